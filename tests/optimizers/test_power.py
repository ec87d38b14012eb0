"""What a number of rows can see."""

import numpy as np
import pytest

from optimizers.power import detectable_gain, paired_deviation


def test_more_rows_see_smaller_gains() -> None:
    assert [round(detectable_gain(0.19, rows), 2) for rows in (10, 60, 300)] == [0.17, 0.07, 0.03]


def test_a_gain_of_that_size_is_found_four_times_in_five() -> None:
    random = np.random.default_rng(0)
    drawn = random.normal(detectable_gain(0.2, 60), 0.2, (4000, 60))
    found = np.abs(drawn.mean(axis=1)) > 1.96 * 0.2 / np.sqrt(60)
    assert found.mean() == pytest.approx(0.8, abs=0.02)


def test_the_spread_is_that_of_differences() -> None:
    before = [0.1, 0.5, 0.9]
    assert paired_deviation(before, [[0.2, 0.6, 1.0]]) == pytest.approx(0)
    assert paired_deviation(before, [[0.2, 0.6, 1.0], [0.0, 0.5, 1.0]]) == pytest.approx((0.01 / 2) ** 0.5)
    assert paired_deviation(before, []) is None
    assert paired_deviation([0.1], [[0.2]]) is None
