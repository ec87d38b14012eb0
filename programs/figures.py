"""The numbers that states and critics are made of: finite, and each in its range."""

import math
from typing import Annotated

from pydantic import Field

from programs.errors import CriticError

# A fitted weight is below ten, and means are of counts in one text; deviations are rounded to six digits. So no sum of
# numbers within these limits leaves what a computer can hold.
_LARGEST_WEIGHT = 1e6
_LARGEST_MEAN = 1e9
SMALLEST_DEVIATION = 1e-6
_SUREST = 30.0  # log-odds beyond which a probability is that of these

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=-_LARGEST_WEIGHT, le=_LARGEST_WEIGHT, allow_inf_nan=False)]
Mean = Annotated[float, Field(ge=-_LARGEST_MEAN, le=_LARGEST_MEAN, allow_inf_nan=False)]
Deviation = Annotated[float, Field(ge=SMALLEST_DEVIATION, le=_LARGEST_MEAN, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


def logistic(odds: float) -> float:
    """Return the probability of log-odds.

    Raises:
        CriticError: they are no number: what they were made of is damaged.
    """
    if math.isnan(odds):
        raise CriticError(
            "the critic's evidence is no number (NaN), so it cannot decide: the weights of the --embedder are damaged, "
            "or those of its state (--compiled)."
        )
    return 1 / (1 + math.exp(-max(-_SUREST, min(_SUREST, odds))))
