"""The measures of a run comparison, each with one value per question, document or attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from groundset.report.analysis import RunAnalysis
from groundset.report.measurements import EARLY, found_within, lengths, nearest_other, overlaps
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.stats import Values

_SEED = 0


@dataclass(frozen=True)
class Measure:
    """One measure.

    Attributes:
        kind: ``share`` for values of 0 and 1, else ``values``.
        values: returns the values of a run, given the size of the smallest run; None if the run lacks them.
        digits: decimals of a median.
        comparison_key: returns a value that must be set and equal in both runs for a test.
        mismatch_reason: reason given if it is not.
    """

    name: str
    kind: Literal["share", "values"]
    values: Callable[[RunAnalysis, int], Values | None]
    digits: int = 0
    comparison_key: Callable[[RunAnalysis], Any] | None = None
    mismatch_reason: str = ""


def drawn(count: int, size: int) -> NDArray[np.int64]:
    """Draw ``size`` of ``count`` indices at random, with a fixed seed."""
    return np.random.default_rng(_SEED).choice(count, size=min(count, size), replace=False)


def _attempts(run: RunAnalysis, _: int) -> Values | None:
    kept = len(run.samples)
    return np.array([1.0] * kept + [0.0] * (run.attempts - kept)) if run.attempts >= max(kept, 1) else None


def _signed(run: RunAnalysis, _: int) -> Values | None:
    verdicts = [run.consensus[sample.id].verdict for sample in run.samples if sample.id in run.consensus]
    return np.array([float(verdict == "good") for verdict in verdicts]) if verdicts else None


def _documents(run: RunAnalysis, _: int) -> Values:
    return np.array([float(document.doc_id in run.sampled_documents) for document in run.documents])


def _found(rank: int) -> Callable[[RunAnalysis, int], Values]:
    return lambda run, _: found_within(run.answerable, rank)


def _ranks(run: RunAnalysis, _: int) -> Values:
    return np.array([float(sample.retrieval.rank or SEARCH_DEPTH + 1) for sample in run.answerable])


def _nearest(run: RunAnalysis, size: int) -> Values | None:
    """Return the cosine of each question with its nearest neighbour.

    Draws as many questions as the smallest run has, because more questions have nearer neighbours.
    """
    vectors = run.question_vectors
    return nearest_other(vectors[drawn(len(vectors), size)]).astype(float) if len(vectors) else None


def _words(field: Literal["question", "answer"]) -> Callable[[RunAnalysis, int], Values]:
    return lambda run, _: np.array(lengths(getattr(sample, field) for sample in run.samples), dtype=float)


def _scores(run: RunAnalysis, _: int) -> Values:
    return np.array([sample.probability for sample in run.samples])


def _embedder(run: RunAnalysis) -> Any:
    return (run.settings["models"].get("embedder") or {}).get("sha256")


def _critic(run: RunAnalysis) -> Any:
    """Return the fields that identify a critic; older runs recorded fewer."""
    return {name: run.judge[name] for name in ("model", "optimizer", "threshold") if name in run.judge}


def _search(run: RunAnalysis) -> Any:
    embedder = _embedder(run)
    return embedder and (embedder, run.chunk_texts)


_EMBEDDER = (_embedder, "embedders differ or are unknown")
_SEARCH = (_search, "chunks or embedders differ or are unknown, and ranks depend on all chunks")
MEASURES = (
    Measure("attempts with a sample", "share", _attempts),
    Measure("signed of reviewed", "share", _signed),
    Measure("documents covered", "share", _documents),
    Measure("hit at 1", "share", _found(1), 0, *_SEARCH),
    Measure(f"hit at {EARLY}", "share", _found(EARLY), 0, *_SEARCH),
    Measure("rank", "values", _ranks, 0, *_SEARCH),
    Measure("similarity to the passage", "values", lambda run, _: run.passage_similarity, 2, *_EMBEDDER),
    Measure("words shared with the passage", "values", lambda run, _: overlaps(run.answerable), 2),
    Measure("similarity to the nearest question", "values", _nearest, 2, *_EMBEDDER),
    Measure("words per question", "values", _words("question")),
    Measure("words per answer", "values", _words("answer")),
    Measure("critic score", "values", _scores, 2, _critic, "critics differ or are unknown"),
)
