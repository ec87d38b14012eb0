"""How two critics decide together."""

import pytest

from programs.steps.sound import together


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [((0.3,), 0.3), ((0.8, 0.8), 0.8), ((0.9, 0.1), 0.5), ((0.8, 0.5), 2 / 3), ((1.0, 0.0), 0.5)],
)
def test_the_log_odds_are_averaged(probabilities: tuple[float, ...], expected: float) -> None:
    assert together(*probabilities) == pytest.approx(expected)


def test_what_one_is_sure_of_outweighs_what_another_doubts() -> None:
    assert together(0.999, 0.3) > 0.9 > together(0.9, 0.3)
