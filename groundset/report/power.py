"""What a set can tell: the smallest difference in hit rate between two retrievers that its questions show."""

from itertools import count

import numpy as np

LEVEL, POWER = 0.05, 0.8
_NEGLIGIBLE = 1e-7  # the numbers of disagreements that are left out have this probability on either side
_STEPS = 14  # halvings; more digits than anybody reads


class McNemarTest:
    """McNemar's exact test of two retrievers, two-sided at 5 %.

    Both are asked the same questions, which count as independent; of a share of them, the disagreement, exactly one of
    the two finds the passage.

    Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions (1947), exact.
    """

    def __init__(self, disagreement: float, questions: int) -> None:
        """Find out which numbers of wins reject, for each number of disagreements that may come."""
        from scipy.stats import binom

        self._binom = binom
        self._disagreement = disagreement
        low, high = (int(binom.ppf(tail, questions, disagreement)) for tail in (_NEGLIGIBLE, 1 - _NEGLIGIBLE))
        counts = np.arange(low, high + 1)
        # The most wins of the worse one that still reject, for each number of disagreements; -1 where nothing does.
        most = binom.ppf(LEVEL / 2, counts, 0.5)
        most = np.where(binom.cdf(most, counts, 0.5) <= LEVEL / 2, most, most - 1)
        chances = binom.pmf(counts, questions, disagreement)
        self._counts, self._most, self._chances = (each[most >= 0] for each in (counts, most, chances))

    def power(self, difference: float) -> float:
        """Return how often it rejects if the better one finds ``difference`` more of all questions."""
        wins = (self._disagreement + difference) / (2 * self._disagreement)
        tails = [self._binom.cdf(self._most, self._counts, share) for share in (wins, 1 - wins)]
        return float(np.sum(self._chances * (tails[0] + tails[1])))


def detectable_difference(questions: int, disagreement: float) -> float | None:
    """Return the smallest difference that is told apart four times in five, None if these questions show none.

    A difference cannot be larger than the share of questions on which two retrievers disagree.
    """
    if questions < 1:
        return None
    test = McNemarTest(disagreement, questions)
    if test.power(disagreement) < POWER:
        return None
    low, high = 0.0, disagreement
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if test.power(middle) < POWER:
            low = middle
        else:
            high = middle
    return high


def questions_needed(difference: float, disagreement: float) -> int | None:
    """Return how many questions show a difference four times in five; None where it is larger than it can be.

    Source: R. J. Connor, Sample size for testing differences in proportions for the paired-sample design (1987), for
    where to begin: his test is not exact, and needs fewer.
    """
    from scipy.stats import norm

    if difference > disagreement:
        return None
    level, power = norm.isf(LEVEL / 2), norm.isf(1 - POWER)
    spread = level * np.sqrt(disagreement) + power * np.sqrt(disagreement - difference**2)
    start = int(np.ceil((spread / difference) ** 2))
    return next(size for size in count(start) if McNemarTest(disagreement, size).power(difference) >= POWER)
