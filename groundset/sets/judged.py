"""Samples that are judged again, apart from the run that made them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from programs.critics import Critic
from programs.deciding import Decision
from programs.judging import judge_questions
from programs.text import plain_passage
from programs.types import Sample, StepRecord

JUDGE = "judge"
_BATCH = 64


def judge_samples(
    samples: Sequence[Sample], critic: Critic, state: dict[str, Any] | None, advance: Callable[[int], object]
) -> Iterator[Decision]:
    """Yield what a critic says of the question of each sample, on all of its contexts.

    Args:
        samples: what is judged.
        critic: of the step ``judge``.
        state: the compiled state of that step, if there is one.
        advance: is told after each batch how many were judged in it.
    """
    for start in range(0, len(samples), _BATCH):
        batch = samples[start : start + _BATCH]
        pairs = [(sample.question, plain_passage(chunk.text for chunk in sample.contexts)) for sample in batch]
        yield from judge_questions(pairs, critic, state)
        advance(len(batch))


def record_of(sample: Sample, decision: Decision) -> StepRecord:
    """Return what the trail of a sample says of a decision on its question."""
    return StepRecord(
        step=JUDGE,
        output={"question": sample.question, **decision.as_output()},
        probability=round(decision.probability, 4),
        verdict="good" if decision.good else "bad",
        reason=None if decision.good else decision.refusal,
    )
