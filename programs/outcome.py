"""What programs return, a question or the reasons why there is none, and what judges decide about
it.

A judge is a language model or a fitted head; the claims below are what it is asked.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import dspy
from dspy.utils.exceptions import AdapterParseError

from groundset.programs.errors import ModelError
from groundset.programs.text import one_line
from groundset.programs.types import Reject

# Claims of the step `compare`.
AGREE = (
    "both texts give the same answer to the question; one may say more as long as nothing in them"
    " differs and neither lacks what the question asks for"
)
SAME_QUESTION = (
    "both questions ask for exactly the same thing, under the same conditions;"
    " only the wording differs"
)
RESOLVES = (
    "the first text is a conversation, and whoever reads it takes its last message to ask exactly"
    " the question that is the second text"
)
PREMISE = (
    "the first text states or plainly implies everything that the question, which is the second"
    " text, takes for granted; whether it answers the question is of no account"
)
_LIKELY = 0.5
# The least confidence of a model that judges questions. Of 48 questions about company documents
# which a strong writer's own judge had kept, two blind readers signed 2 of the 7 below it, and 35
# of the 41 above.
SURE = 0.75
_UNCERTAIN = "not certain"
NO_FAULT = "no fault"  # what a judge writes whom nothing displeases
_PARTS = (
    "content",
    "self_contained",
    "independent",
    "clear",
    "answerable",
    "grounded",
    "sound",
    "holds",
)


class RefusedError(Exception):
    """Ends the work on a question inside a program, which returns the reject."""

    def __init__(
        self, step: str, reason: str, *, exhausted: bool = False, place: int = 0, **facts: Any
    ) -> None:
        """Hold the reject; ``exhausted`` says that nothing more can be asked about the passage, and
        ``place`` which of several it is.
        """
        super().__init__(reason)
        self.reject = Reject(step=step, reason=reason, **facts)
        self.exhausted = exhausted
        self.place = place

    def outcome(self, rejects: Sequence[Reject] = ()) -> dspy.Prediction:
        """Return what a program made that ends here, with what it refused before."""
        rejects = [*rejects, self.reject]
        return outcome(rejects=rejects, exhausted=self.exhausted, refused=self.place)


def outcome(
    *,
    question: str = "",  # empty if it was refused, and then ``rejects`` says why
    answer: str = "",
    evidence: Sequence[str] = (),  # the words of the passages that the answer rests on
    evolution: str = "",  # the form of the question, one of ``FORMS``
    kind: str = "",  # what it asks for
    # How likely a careful editor would keep it, if the judge said.
    probability: float | None = None,
    # Positions of the given passages that the answer needs; none if they do not answer it.
    needed: Sequence[int] = (),
    refused: int = 0,  # position of the passage that the last reject is about
    context_ids: Sequence[str] = (),  # of its passages, if the program searched for them
    # For each needed passage, the ids of others that serve as well.
    alternatives: Sequence[Sequence[str]] = (),
    rejects: Sequence[Reject] = (),  # what was refused on the way
    exhausted: bool = False,  # whether nothing more can be asked about the passages
    metadata: dict[str, Any] | None = None,  # further facts about the question
) -> dspy.Prediction:
    """Return what a program made; fields and their meaning are the parameters."""
    return dspy.Prediction(
        question=question,
        answer=answer,
        evidence=list(evidence),
        evolution=evolution,
        kind=kind,
        probability=probability,
        needed=list(needed),
        refused=refused,
        context_ids=list(context_ids),
        alternatives=[list(group) for group in alternatives],
        rejects=list(rejects),
        exhausted=exhausted,
        metadata=dict(metadata or {}),
    )


def call(step: Any, /, **inputs: Any) -> dspy.Prediction:
    """Call a step of a program.

    Raises:
        RefusedError: its completion cannot be read.
    """
    try:
        return step(**inputs)
    except AdapterParseError as error:
        reason = one_line(error)
        question = inputs.get("question") or None
        name = getattr(step, "name", type(step).__name__)
        raise RefusedError(
            name, f"what was written cannot be read: {reason:.120}", question=question
        ) from error


class Verdict(NamedTuple):
    """A decision of a judge: whether it is good, how likely that is, and why."""

    good: bool
    probability: float | None
    reason: str

    @property
    def fault(self) -> str:
        """Return what a rewrite can mend; that a judge is less sure than wanted is no fault."""
        return self.reason.removeprefix(_UNCERTAIN).removeprefix(": ")

    def refusal(self, question: str) -> RefusedError:
        """Return what ends the work on a question that the judge refuses."""
        return RefusedError("judge", self.reason, question=question, probability=self.probability)


def verdict(judged: dspy.Prediction, *, unanswerable: bool = False, sure: bool = True) -> Verdict:
    """Return the decision in the outputs of a judge.

    A fitted head decides by its output ``fit``, a language model by all of its parts; with
    log-probabilities, they must be yes together more likely than not. Its ``confidence`` is that of
    an editor keeping the question, so it does not exceed a half where a part is no; below
    :data:`SURE` it refuses a question, too, unless that need not be ``sure``. An ``unanswerable``
    question is one that the passage must not answer.

    Raises:
        ModelError: the outputs are not those of a judge.
    """
    parts = {name: bool(judged[name]) for name in _PARTS if name in judged}
    if not (parts or "fit" in judged) or (unanswerable and "answerable" not in parts):
        raise ModelError(
            "a judge decides by outputs such as clear and answerable; this one has"
            f" {', '.join(judged)}"
        )
    if unanswerable:
        parts["unanswerable"] = not parts.pop("answerable")
    failed = [name for name, value in parts.items() if not value]
    probability = float(judged["probability"]) if "probability" in judged else None
    if (
        probability is not None
        and probability < _LIKELY
        and not (failed or unanswerable or "fit" in judged)
    ):
        failed = ["certain"]
    good = bool(judged["fit"]) if "fit" in judged and not unanswerable else not failed
    if probability is None and "confidence" in judged and not unanswerable:
        share = min(100, max(0, int(judged["confidence"]))) / 100
        probability = max(0.5, share) if good else min(0.5, share)
        if good and sure and "answerable" in parts and probability < SURE and "fit" not in judged:
            good, failed = False, ["certain"]
    reason = "" if good else f"not {(failed or ['fit'])[0].replace('_', '-')}"
    said = fault_in(judged)
    if reason and said and said != reason:
        # A head names the part that is least likely, a language model says what is wrong with it.
        reason = said if "fit" in judged and not unanswerable else f"{reason}: {said}"
    return Verdict(good, None if probability is None else round(probability, 4), reason)


def fault_in(judged: dspy.Prediction) -> str:
    """Return the fault that a judge writes; empty if there is none."""
    said = one_line(judged.get("reason", ""))
    plain = said.rstrip(".").casefold()
    return "" if plain.startswith(NO_FAULT) or plain in ("none", "nothing") else said


def holds(
    compare: Any, claim: str, first: str, second: str, question: str = ""
) -> tuple[bool, str]:
    """Return whether a claim about two texts holds, and the reason; what cannot be read does not
    hold.
    """
    try:
        decision = call(compare, claim=claim, question=question, first=first, second=second)
    except RefusedError as refused:
        return False, refused.reject.reason
    return bool(decision.holds), one_line(decision.reason)
