"""Whether two runs differ."""

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from groundset.report.contrasts import contrast_shares, contrast_values


def outcomes(good: int, n: int) -> np.ndarray:
    return np.array([1.0] * good + [0.0] * (n - good))


def test_shares_have_newcombes_interval_and_fishers_test() -> None:
    found = contrast_shares(outcomes(48, 80), outcomes(56, 70))
    assert found is not None
    # Newcombe (1998), table II, example (a), method 10.
    assert (found.gain, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert 0.005 < found.p < 0.02
    assert 0.2 < found.detectable(1) < found.detectable(10) < 0.4


def test_the_other_way_round_is_the_other_sign() -> None:
    one, other = contrast_shares(outcomes(3, 9), outcomes(6, 8)), contrast_shares(outcomes(6, 8), outcomes(3, 9))
    assert one is not None
    assert other is not None
    assert (one.gain, one.low, one.high) == pytest.approx((-other.gain, -other.high, -other.low))
    assert one.p == pytest.approx(other.p)


def test_values_count_pairs_and_half_of_ties() -> None:
    before, after = np.array([1.0, 2, 3, 4]), np.array([2.0, 4, 5])
    found = contrast_values(before, after)
    pairs = [(a > b) + 0.5 * (a == b) for a in after for b in before]
    assert found is not None
    assert found.gain == pytest.approx(np.mean(pairs) - 0.5)
    assert -0.5 <= found.low < found.gain < found.high <= 0.5


def test_the_interval_of_values_holds_what_is_true_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    truth = 0.2602  # of two normal distributions of deviation 1 that lie 1 apart: their overlap by pairs, less one half
    held = 0
    for _ in range(200):
        found = contrast_values(rng.normal(0, 1, 40), rng.normal(1.0, 1, 60))
        assert found is not None
        held += found.low <= truth <= found.high
    assert held / 200 == pytest.approx(0.95, abs=0.04)


def test_where_nothing_differs_nothing_is_seen() -> None:
    same = contrast_values(np.ones(5), np.ones(7))
    assert same is not None
    assert (same.gain, same.p) == (0.0, 1.0)
    assert same.low < 0 < same.high


def test_too_few_values_say_nothing() -> None:
    assert contrast_shares(np.array([]), outcomes(1, 2)) is None
    assert contrast_values(np.array([1.0]), np.array([1.0, 2.0])) is None


@pytest.mark.parametrize(("good", "n"), [(90, 100), (0, 100), (2, 20), (50, 100)])
def test_a_share_as_far_away_as_is_told_is_seen_four_times_in_five(good: int, n: int) -> None:
    found = contrast_shares(outcomes(good, n), outcomes(good, n))
    assert found is not None
    counts = np.arange(n + 1)
    seen = []
    for share in (good / n + found.detectable(1), good / n - found.detectable(1)):
        before, after = binom.pmf(counts, n, good / n), binom.pmf(counts, n, share)
        likely = [(x, y) for x in counts for y in counts if before[x] * after[y] > 1e-5]
        tells = [(x, y) for x, y in likely if fisher_exact([[y, n - y], [x, n - x]]).pvalue < 0.05]
        seen.append(sum(before[x] * after[y] for x, y in tells))
    assert np.nanmax(seen) == pytest.approx(0.85, abs=0.075)


def test_a_few_values_that_can_never_differ_enough_see_no_gain_at_all() -> None:
    shares, values = contrast_shares(outcomes(1, 2), outcomes(1, 2)), contrast_values(np.arange(2.0), np.arange(2.0))
    assert shares is not None
    assert values is not None
    assert (shares.detectable(1), values.detectable(1)) == (1.0, 0.5)
