"""Judge samples with a critic, and rank their chunks in a search."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from groundset.retrieval.index import SEARCH_DEPTH, ChunkIndex, round_trip
from groundset.retrieval.stores import open_store
from groundset.run import Run
from programs.critics import Critic
from programs.deciding import Decision, without_answer
from programs.judging import judge_questions
from programs.text import plain_passage
from programs.types import Hit, Sample, StepRecord

JUDGE = "judge"
JUDGE_BATCH = 64
_SEARCH_BATCH = 256


def judge_samples(
    samples: Sequence[Sample], critic: Critic, state: dict[str, Any] | None, advance: Callable[[int], object]
) -> Iterator[Decision]:
    """Yield the decision of a critic on each sample; the passage must not answer unanswerable questions.

    ``state`` is the compiled state of the step ``judge``, if any; ``advance`` is called with the size of each batch.
    """
    for start in range(0, len(samples), JUDGE_BATCH):
        batch = samples[start : start + JUDGE_BATCH]
        pairs = [(sample.question, plain_passage(chunk.text for chunk in sample.contexts)) for sample in batch]
        decisions = judge_questions(pairs, critic, state)
        for sample, decision in zip(batch, decisions, strict=True):
            yield decision if sample.answerable else without_answer(decision)
        advance(len(batch))


def record_of(sample: Sample, decision: Decision) -> StepRecord:
    """Build the trail record of a decision on a sample."""
    return StepRecord(
        step=JUDGE,
        output={"question": sample.question, **decision.as_output()},
        probability=round(decision.probability, 4),
        verdict="good" if decision.good else "bad",
        reason=None if decision.good else decision.refusal,
    )


def with_ranks(run: Run) -> Run:
    """Rank the chunks of every sample among all chunks of the run; ``retrieval_gt`` does not change."""
    vectors = dict(zip((sample.question for sample in run.samples), run.question_vectors, strict=True))
    ids = [chunk.chunk_id for chunk in run.chunks]
    samples: list[Sample] = []
    with open_store("faiss", ids, run.chunk_vectors) as store:
        index = ChunkIndex(run.chunks, store, lambda questions: np.stack([vectors[question] for question in questions]))
        for start in range(0, len(run.samples), _SEARCH_BATCH):
            batch = run.samples[start : start + _SEARCH_BATCH]
            found = index.search_many([sample.question for sample in batch], min(SEARCH_DEPTH, len(ids)))
            samples += [_ranked(sample, hits) for sample, hits in zip(batch, found, strict=True)]
    return run.replace(samples=samples)


def _ranked(sample: Sample, hits: list[Hit]) -> Sample:
    metadata = dict(sample.metadata)
    if "source_rank" in metadata or any(len(group) > 1 for group in sample.retrieval_gt):
        sources = [(chunk.chunk_id,) for chunk in sample.contexts]
        metadata["source_rank"] = round_trip(hits, sources).rank
    return sample.model_copy(update={"retrieval": round_trip(hits, sample.retrieval_gt), "metadata": metadata})
