"""Combining the decisions of two critics."""

import pytest

from programs.steps.sound import combine


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [((0.3,), 0.3), ((0.8, 0.8), 0.8), ((0.9, 0.1), 0.5), ((0.8, 0.5), 2 / 3), ((1.0, 0.0), 0.5)],
)
def test_combine_averages_log_odds(probabilities: tuple[float, ...], expected: float) -> None:
    assert combine(*probabilities) == pytest.approx(expected)
