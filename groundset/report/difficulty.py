"""How hard a question makes it for a search: its rank, and the words that it shares with its passage."""

import numpy as np
from numpy.typing import NDArray

from groundset.report.facts import RunFacts
from groundset.stats import Values

DIFFICULTIES = ("easy", "middling", "hard")
EARLY = 5
_ENOUGH = 0.5  # of the words; set by hand, fitted to nothing


def found_within(facts: RunFacts, rank: int) -> Values:
    """Return 1 for each question that found its passage at a rank or better, else 0."""
    return np.array([float(0 < (sample.retrieval.rank or 0) <= rank) for sample in facts.samples])


def reciprocal(facts: RunFacts) -> Values:
    """Return one over the rank of each question's passage, 0 where it was not found."""
    return np.array([1 / sample.retrieval.rank if sample.retrieval.rank else 0.0 for sample in facts.samples])


def difficulties(facts: RunFacts, shared: NDArray[np.float64]) -> list[str]:
    """Return how hard each question is; ``shared`` is the share of its words that its passage holds.

    Easy is what is found first and shares at least half of its words; hard what is not among the first five, or is
    found later than first and shares less; all else is middling.
    """
    told = []
    for first, early, words in zip(found_within(facts, 1), found_within(facts, EARLY), shared, strict=True):
        if first and words >= _ENOUGH:
            told.append("easy")
        else:
            told.append("middling" if first or (early and words >= _ENOUGH) else "hard")
    return told
