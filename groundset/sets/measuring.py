"""Measure samples again: by a critic, and by a search for their chunks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from groundset.retrieval.index import SEARCH_DEPTH, ChunkIndex, round_trip
from groundset.retrieval.stores import open_store
from groundset.run import Run
from programs.critics import Critic
from programs.deciding import Decision
from programs.judging import judge_questions
from programs.text import plain_passage
from programs.types import Hit, Sample, StepRecord

JUDGE = "judge"
_JUDGED_AT_ONCE = 64
_SEARCHED_AT_ONCE = 256


def judge_samples(
    samples: Sequence[Sample], critic: Critic, state: dict[str, Any] | None, advance: Callable[[int], object]
) -> Iterator[Decision]:
    """Yield the decision of a critic on the question of each sample, with all of its contexts.

    ``state`` is the compiled state of the step ``judge``, if there is one; ``advance`` is called with the size of each
    batch.
    """
    for start in range(0, len(samples), _JUDGED_AT_ONCE):
        batch = samples[start : start + _JUDGED_AT_ONCE]
        pairs = [(sample.question, plain_passage(chunk.text for chunk in sample.contexts)) for sample in batch]
        yield from judge_questions(pairs, critic, state)
        advance(len(batch))


def record_of(sample: Sample, decision: Decision) -> StepRecord:
    """Build the record of a decision on the question of a sample, for its trail."""
    return StepRecord(
        step=JUDGE,
        output={"question": sample.question, **decision.as_output()},
        probability=round(decision.probability, 4),
        verdict="good" if decision.good else "bad",
        reason=None if decision.good else decision.refusal,
    )


def with_ranks(run: Run) -> Run:
    """Return the run with the round trip of every sample over all of its chunks; ``retrieval_gt`` stays."""
    vectors = dict(zip((sample.question for sample in run.samples), run.question_vectors, strict=True))
    ids = [chunk.chunk_id for chunk in run.chunks]
    samples: list[Sample] = []
    with open_store("faiss", ids, run.chunk_vectors) as store:
        index = ChunkIndex(run.chunks, store, lambda questions: np.stack([vectors[question] for question in questions]))
        for start in range(0, len(run.samples), _SEARCHED_AT_ONCE):
            batch = run.samples[start : start + _SEARCHED_AT_ONCE]
            found = index.search_many([sample.question for sample in batch], min(SEARCH_DEPTH, len(ids)))
            samples += [_placed(sample, hits) for sample, hits in zip(batch, found, strict=True)]
    return run.replace(samples=samples)


def _placed(sample: Sample, hits: list[Hit]) -> Sample:
    metadata = dict(sample.metadata)
    if "source_rank" in metadata or any(len(group) > 1 for group in sample.retrieval_gt):
        own = [(chunk.chunk_id,) for chunk in sample.contexts]
        metadata["source_rank"] = round_trip(hits, own).rank
    return sample.model_copy(update={"retrieval": round_trip(hits, sample.retrieval_gt), "metadata": metadata})
