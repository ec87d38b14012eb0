"""What runs are compared by: one row for each measure, with a value for every question, document or attempt."""

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
    """One row of the table.

    Attributes:
        kind: ``share`` of 0 and 1, or other ``values``.
        values: returns them for a run and the size of the smallest one; None where the run lacks them.
        digits: after the point of a median.
        same: returns what both runs must have, and have alike, for their values to be compared.
        unless: the reason given where they do not.
    """

    name: str
    kind: Literal["share", "values"]
    values: Callable[[RunAnalysis, int], Values | None]
    digits: int = 0
    same: Callable[[RunAnalysis], Any] | None = None
    unless: str = ""


def drawn(count: int, size: int) -> NDArray[np.int64]:
    """Return the places of ``size`` things out of ``count``, drawn at random and the same each time."""
    return np.random.default_rng(_SEED).choice(count, size=min(count, size), replace=False)


def _attempts(run: RunAnalysis, _: int) -> Values | None:
    kept = len(run.samples)
    return np.array([1.0] * kept + [0.0] * (run.attempts - kept)) if run.attempts >= max(kept, 1) else None


def _signed(run: RunAnalysis, _: int) -> Values | None:
    verdicts = [run.consensus[sample.id].verdict for sample in run.samples if sample.id in run.consensus]
    return np.array([float(verdict == "good") for verdict in verdicts]) if verdicts else None


def _documents(run: RunAnalysis, _: int) -> Values:
    return np.array([float(document.doc_id in run.asked_documents) for document in run.documents])


def _found(rank: int) -> Callable[[RunAnalysis, int], Values]:
    return lambda run, _: found_within(run.samples, rank)


def _ranks(run: RunAnalysis, _: int) -> Values:
    return np.array([float(sample.retrieval.rank or SEARCH_DEPTH + 1) for sample in run.samples])


def _nearest(run: RunAnalysis, size: int) -> Values | None:
    """Return the likeness of each question with the nearest other, for as many questions as the smallest run has.

    The more questions there are, the nearer they lie by themselves.
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
    """Return what identifies a critic: not its quality estimate; older runs recorded less."""
    return {name: run.judge[name] for name in ("model", "optimizer", "threshold") if name in run.judge}


def _search(run: RunAnalysis) -> Any:
    embedder = _embedder(run)
    return embedder and (embedder, run.chunk_texts)


_EMBEDDER = (_embedder, "their embedders differ, or are not known")
_SEARCH = (
    _search,
    "their chunks or embedders differ, or are not known, and ranks are those of one search among all chunks",
)
MEASURES = (
    Measure("attempts that gave a sample", "share", _attempts),
    Measure("signed of those read", "share", _signed),
    Measure("documents asked about", "share", _documents),
    Measure("hit at 1", "share", _found(1), 0, *_SEARCH),
    Measure(f"hit at {EARLY}", "share", _found(EARLY), 0, *_SEARCH),
    Measure("rank", "values", _ranks, 0, *_SEARCH),
    Measure("likeness to the passage", "values", lambda run, _: run.passage_likeness, 2, *_EMBEDDER),
    Measure("words shared with the passage", "values", lambda run, _: overlaps(run.samples), 2),
    Measure("likeness to the nearest other", "values", _nearest, 2, *_EMBEDDER),
    Measure("words of a question", "values", _words("question")),
    Measure("words of an answer", "values", _words("answer")),
    Measure("score of the critic", "values", _scores, 2, _critic, "their critics differ, or are not known"),
)
