"""What programs return: a question, or the reasons why there is none."""

from collections.abc import Sequence
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from programs.types import Reject


class RefusedError(Exception):
    """Ends the work on a question inside a program, which returns the reject."""

    def __init__(self, step: str, reason: str, *, exhausted: bool = False, **facts: Any) -> None:
        """Hold the reject; ``exhausted`` says that nothing more can be asked about the passage."""
        super().__init__(reason)
        self.reject = Reject(step=step, reason=reason, **facts)
        self.exhausted = exhausted


def outcome(
    *,
    question: str = "",  # empty if it was refused, and then ``rejects`` says why
    answer: str = "",
    evidence: Sequence[str] = (),  # the words of the passages that the answer rests on
    evolution: str = "",  # the form of the question, a key of ``EVOLUTIONS`` or ``STYLES``
    kind: str = "",  # what it asks for
    probability: float | None = None,  # how likely a careful editor would keep it, if the judge said
    needed: Sequence[int] = (),  # positions of the given passages that the answer needs; none if they do not answer it
    context_ids: Sequence[str] = (),  # of its passages, if the program searched for them
    alternatives: Sequence[Sequence[str]] = (),  # for each needed passage, the ids of others that serve as well
    rejects: Sequence[Reject] = (),  # what was refused on the way
    exhausted: bool = False,  # whether nothing more can be asked about the passages
    metadata: dict[str, Any] | None = None,  # further facts about the question
) -> dspy.Prediction:
    """Return what a program made; fields and their meaning are the parameters."""
    made: dict[str, Any] = {"question": question, "answer": answer, "evidence": list(evidence), "evolution": evolution}
    made |= {"kind": kind, "probability": probability, "needed": list(needed), "context_ids": list(context_ids)}
    made |= {"alternatives": [list(group) for group in alternatives], "rejects": list(rejects)}
    return dspy.Prediction(**made, exhausted=exhausted, metadata=dict(metadata or {}))


def call(step: Any, /, **inputs: Any) -> dspy.Prediction:
    """Call a step of a program.

    Raises:
        RefusedError: its completion cannot be read.
    """
    try:
        return step(**inputs)
    except AdapterParseError as error:
        reason = " ".join(str(error.message if hasattr(error, "message") else error).split())
        question = inputs.get("question") or None
        raise RefusedError(step.name, f"what was written cannot be read: {reason:.120}", question=question) from error
