"""What a comparison of candidates can see: the smallest gain that a number of rows tells from noise."""

import math
import statistics
from collections.abc import Sequence

_NORMAL = statistics.NormalDist()
_POWER, _LEVEL = 0.8, 0.05
_FEWEST = 3  # differences that say anything of their spread


def detectable_gain(deviation: float, rows: int) -> float:
    """Return the smallest true gain of a mean that is found with 80 % power by a paired, two-sided test at 5 %.

    ``deviation`` is the standard deviation of the paired differences of rows. Rows of one document are alike, so what
    can be seen of few documents is a little more than this.

    Source: J. Cohen, Statistical power analysis for the behavioral sciences (1988), in the normal approximation.
    """
    return (_NORMAL.inv_cdf(1 - _LEVEL / 2) + _NORMAL.inv_cdf(_POWER)) * deviation / math.sqrt(rows)


def paired_deviation(before: Sequence[float], others: Sequence[Sequence[float]]) -> float | None:
    """Return the standard deviation of paired differences on the same rows, over several candidates (root mean square).

    None without candidates or with fewer than three rows.
    """
    if not others or len(before) < _FEWEST:
        return None
    variances = [statistics.variance(new - old for old, new in zip(before, after, strict=True)) for after in others]
    return math.sqrt(statistics.fmean(variances))
