"""Reading the decisions of judges, whether a language model or a fitted head made them."""

from typing import Any, NamedTuple

import dspy

from programs.outcome import RefusedError, call

# Claims of the step `compare`.
AGREE = (
    "both texts give the same answer to the question; one may say more as long as nothing in them differs and neither "
    "lacks what the question asks for"
)
SAME_QUESTION = "both questions ask for exactly the same thing, under the same conditions; only the wording differs"
RESOLVES = (
    "the first text is a conversation, and whoever reads it takes its last message to ask exactly the question that is "
    "the second text"
)
PREMISE = (
    "the first text states or plainly implies everything that the question, which is the second text, takes for "
    "granted; whether it answers the question is of no account"
)
# Criteria of the step `review`.
RELEVANT = "the passage states something that belongs in an answer to the question, be it only a part of it"
FITS = "question and answer are as every line of this profile says: "
VIEWPOINTS = {
    "accuracy": "accuracy and completeness: the passage states all that the question takes for granted and all that "
    "the answer says, and the answer is the whole answer; compare names, numbers and conditions word for word",
    "clarity": "clarity and insight: somebody who has never seen the passage understands the question, it asks for one "
    "thing without giving the answer away, and the answer is worth knowing",
    "use": "practical use: somebody who works with such documents would ask this question, and the answer helps them",
}
_LIKELY = 0.5
_PARTS = ("content", "self_contained", "independent", "clear", "answerable", "grounded", "sound", "approved", "holds")


class Verdict(NamedTuple):
    """A decision of a judge: whether it is good, how likely that is, and why."""

    good: bool
    probability: float | None
    reason: str


def verdict(judged: dspy.Prediction, *, unanswerable: bool = False) -> Verdict:
    """Return the decision in the outputs of a judge.

    A fitted head decides by its output ``fit``, a language model by all of its parts; with log-probabilities, they must
    be yes together more likely than not. Its ``confidence`` is that of an editor keeping the question, so it does not
    exceed a half where a part is no.

    Args:
        judged: the outputs.
        unanswerable: whether the passage must not answer the question.
    """
    parts = {name: bool(judged[name]) for name in _PARTS if name in judged}
    if unanswerable:
        parts["unanswerable"] = not parts.pop("answerable")
    failed = [name for name, value in parts.items() if not value]
    probability = float(judged["probability"]) if "probability" in judged else None
    if probability is not None and probability < _LIKELY and not (failed or unanswerable or "fit" in judged):
        failed = ["certain"]
    good = bool(judged["fit"]) if "fit" in judged and not unanswerable else not failed
    if probability is None and "confidence" in judged and not unanswerable:
        share = min(100, max(0, int(judged["confidence"]))) / 100
        probability = max(0.5, share) if good else min(0.5, share)
    reason = "" if good else f"not {(failed or ['fit'])[0].replace('_', '-')}"
    said = " ".join(str(judged.get("reason", "")).split())
    if reason and said and said != reason:
        # A head names the part that is least likely, a language model says what is wrong with it.
        reason = said if "fit" in judged and not unanswerable else f"{reason}: {said}"
    return Verdict(good, None if probability is None else round(probability, 4), reason)


def holds(compare: Any, claim: str, first: str, second: str, question: str = "") -> tuple[bool, str]:
    """Return whether a claim about two texts holds, and the reason; what cannot be read does not hold."""
    try:
        decision = call(compare, claim=claim, question=question, first=first, second=second)
    except RefusedError as refused:
        return False, refused.reject.reason
    return bool(decision.holds), " ".join(str(decision.reason).split())
