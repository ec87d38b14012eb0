"""What runs are compared by: one row for each measure, with a value for every question, document or attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from groundset.report.difficulty import EARLY, found_within
from groundset.report.facts import RunFacts
from groundset.report.likeness import nearest_other, to_passages
from groundset.report.words import lengths, overlaps
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.stats import Values

Places = NDArray[np.int64]

_SEED = 0


@dataclass(frozen=True)
class Measure:
    """One row of the table.

    Attributes:
        name: what it is called.
        kind: ``share`` of 0 and 1, or other ``values``.
        values: returns them for a run and the size of the smallest one; None where the run does not know them.
        digits: after the point of a median.
        same: returns what has to be known, and the same in both runs, for their values to be compared.
        unless: what to say where it is not.
    """

    name: str
    kind: Literal["share", "values"]
    values: Callable[[RunFacts, int], Values | None]
    digits: int = 0
    same: Callable[[RunFacts], Any] | None = None
    unless: str = ""


def _attempts(facts: RunFacts, _: int) -> Values | None:
    kept = len(facts.samples)
    return np.array([1.0] * kept + [0.0] * (facts.attempts - kept)) if facts.attempts >= max(kept, 1) else None


def _signed(facts: RunFacts, _: int) -> Values | None:
    verdicts = [facts.readings[sample.id].verdict for sample in facts.samples if sample.id in facts.readings]
    return np.array([float(verdict == "good") for verdict in verdicts]) if verdicts else None


def _documents(facts: RunFacts, _: int) -> Values:
    asked = {chunk.doc_id for sample in facts.samples for chunk in sample.contexts}
    return np.array([float(each.doc_id in asked) for each in facts.sources])


def _ranks(facts: RunFacts, _: int) -> Values:
    return np.array([float(sample.retrieval.rank or SEARCH_DEPTH + 1) for sample in facts.samples])


def _twins(facts: RunFacts, size: int) -> Values | None:
    """Return the likeness of each question with the nearest other; of as many as the smallest run has.

    The more questions there are, the nearer they lie by themselves.
    """
    if facts.questions is None:
        return None
    return nearest_other(facts.questions[drawn(len(facts.questions), size)]).astype(float)


def drawn(count: int, size: int) -> Places:
    """Return the places of ``size`` things out of so many, drawn at random and the same each time."""
    places: Places = np.random.default_rng(_SEED).choice(count, size=min(count, size), replace=False)
    return places


def _likeness(facts: RunFacts, _: int) -> Values | None:
    return to_passages(facts)


def _shared(facts: RunFacts, _: int) -> Values:
    return overlaps(facts.samples)


def _words(facts: RunFacts, _: int) -> Values:
    return np.array(lengths(sample.question for sample in facts.samples), dtype=float)


def _answers(facts: RunFacts, _: int) -> Values:
    return np.array(lengths(sample.answer for sample in facts.samples), dtype=float)


def _scores(facts: RunFacts, _: int) -> Values:
    return np.array([sample.probability for sample in facts.samples])


def _embedder(facts: RunFacts) -> Any:
    models = facts.meta["models"] or {}
    return (models.get("embedder") or {}).get("sha256")


def _critic(facts: RunFacts) -> Any:
    """Return what tells one critic from another; what its threshold promises does not, and older runs note less."""
    judge = (facts.meta["compiled"] or {}).get("judge") or {}
    return {name: judge[name] for name in ("model", "optimizer", "threshold") if name in judge}


def _search(facts: RunFacts) -> Any:
    embedder = _embedder(facts)
    return embedder and (embedder, facts.cut)


_OTHER_EMBEDDER = "their embedders differ, or are not known"
_OTHER_SEARCH = "their chunks or embedders differ, or are not known, and ranks are those of one search among all chunks"
MEASURES = (
    Measure("attempts that gave a sample", "share", _attempts),
    Measure("signed of those read", "share", _signed),
    Measure("documents asked about", "share", _documents),
    Measure("hit at 1", "share", lambda facts, _: found_within(facts, 1), same=_search, unless=_OTHER_SEARCH),
    Measure(
        f"hit at {EARLY}", "share", lambda facts, _: found_within(facts, EARLY), same=_search, unless=_OTHER_SEARCH
    ),
    Measure("rank", "values", _ranks, 0, _search, _OTHER_SEARCH),
    Measure("likeness to the passage", "values", _likeness, 2, _embedder, _OTHER_EMBEDDER),
    Measure("words shared with the passage", "values", _shared, 2),
    Measure("likeness to the nearest other", "values", _twins, 2, _embedder, _OTHER_EMBEDDER),
    Measure("words of a question", "values", _words),
    Measure("words of an answer", "values", _answers),
    Measure("score of the critic", "values", _scores, 2, _critic, "their critics differ, or are not known"),
)
