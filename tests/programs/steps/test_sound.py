"""How two critics decide together."""

import pytest

from programs.steps.sound import combine


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [((0.3,), 0.3), ((0.8, 0.8), 0.8), ((0.9, 0.1), 0.5), ((0.8, 0.5), 2 / 3), ((1.0, 0.0), 0.5)],
)
def test_combine_averages_log_odds(probabilities: tuple[float, ...], expected: float) -> None:
    assert combine(*probabilities) == pytest.approx(expected)


def test_combine_prefers_the_more_confident() -> None:
    assert combine(0.999, 0.3) > 0.9 > combine(0.9, 0.3)
