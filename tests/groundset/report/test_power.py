"""What a set can tell of two retrievers."""

import numpy as np
import pytest
from scipy.stats import binomtest

from groundset.report.power import POWER, McNemarTest, detectable_difference, questions_needed


def power_of(difference: float, disagreement: float, questions: int) -> float:
    return McNemarTest(disagreement, questions).power(difference)


def simulated(difference: float, disagreement: float, questions: int, times: int) -> float:
    rng = np.random.default_rng(0)
    wins = (disagreement + difference) / 2
    seen = 0
    for _ in range(times):
        one, other, _ = rng.multinomial(questions, [wins, disagreement - wins, 1 - disagreement])
        seen += bool(one + other) and binomtest(int(one), int(one + other)).pvalue <= 0.05
    return seen / times


@pytest.mark.parametrize(("difference", "disagreement", "questions"), [(0.15, 0.3, 100), (0.0, 0.4, 60)])
def test_power_is_what_the_exact_test_shows_when_it_is_tried(
    difference: float, disagreement: float, questions: int
) -> None:
    tried = simulated(difference, disagreement, questions, 1500)
    assert power_of(difference, disagreement, questions) == pytest.approx(tried, abs=0.035)


def test_without_a_difference_the_test_errs_less_often_than_its_level() -> None:
    assert 0 < power_of(0, 0.3, 200) <= 0.05


def test_the_smallest_difference_is_seen_four_times_in_five_and_a_smaller_one_less_often() -> None:
    found = detectable_difference(200, 0.2)
    assert found is not None
    assert power_of(found, 0.2, 200) >= POWER > power_of(0.95 * found, 0.2, 200)


def test_four_times_as_many_questions_see_half_the_difference() -> None:
    few, many = detectable_difference(500, 0.2), detectable_difference(2000, 0.2)
    assert few is not None
    assert many is not None
    assert few / many == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize(("questions", "disagreement"), [(0, 0.2), (1, 0.5), (5, 1.0), (12, 0.2)])
def test_a_few_questions_see_nothing(questions: int, disagreement: float) -> None:
    assert detectable_difference(questions, disagreement) is None


def test_six_questions_that_one_of_them_all_wins_are_the_fewest() -> None:
    assert detectable_difference(6, 1.0) == pytest.approx(1.0, abs=0.1)


def test_the_number_of_questions_that_is_told_has_that_power() -> None:
    needed = questions_needed(0.05, 0.2)
    assert needed == 658
    assert power_of(0.05, 0.2, needed) >= POWER > power_of(0.05, 0.2, needed - 10)
    assert detectable_difference(needed, 0.2) == pytest.approx(0.05, abs=1e-4)
    assert questions_needed(0.3, 0.2) is None
