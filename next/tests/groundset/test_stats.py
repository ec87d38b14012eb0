"""Estimates, tests, corrections and minimum detectable effects."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest, fisher_exact

from groundset.stats import (
    Estimate,
    bootstrap_mean,
    contrast_shares,
    contrast_values,
    detectable_difference,
    detectable_gain,
    holm,
    kappa,
    mcnemar,
    permutation,
    resampling_units,
    wilson,
)


def outcomes(good: int, n: int) -> np.ndarray:
    return np.array([1.0] * good + [0.0] * (n - good))


def test_wilson_interval() -> None:
    assert wilson(9, 10) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)
    assert wilson(0, 0) is None
    assert str(Estimate(0.0749, -0.0001, 0.1551)) == "0.07 (0.00 to 0.16)"


def test_resampling_units_are_documents_if_there_are_enough() -> None:
    units, by_document = resampling_units([f"d{number // 3}" for number in range(30)])
    assert (units.tolist(), by_document) == ([number // 3 for number in range(30)], True)
    for documents in (["a", "a", "b"], [f"d{number}" for number in range(30)]):
        units, by_document = resampling_units(documents)
        assert (units.tolist(), by_document) == (list(range(len(documents))), False)


def test_bootstrap_interval_is_wider_for_clustered_documents() -> None:
    values = np.repeat(np.tile([0.0, 1.0], 10), 5)
    alone, clustered = (bootstrap_mean(values, units) for units in (np.arange(100), np.repeat(np.arange(20), 5)))
    assert alone.value == clustered.value == 0.5
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * 0.05, abs=0.03)
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * 0.112, abs=0.05)
    assert clustered == bootstrap_mean(values, np.repeat(np.arange(20), 5))
    documents = np.array([0] * 30 + list(range(1, 11)))
    assert bootstrap_mean(outcomes(30, 40), documents).value == 0.75


def test_bootstrap_interval_has_width_for_equal_values_or_documents() -> None:
    assert bootstrap_mean(np.ones(20), np.arange(20)) == Estimate(1.0, pytest.approx(0.839, abs=0.001), 1.0)
    assert bootstrap_mean(np.zeros(20), np.arange(20)).low == 0.0
    nothing = bootstrap_mean(np.zeros(20), np.arange(20), lowest=-1.0)
    assert nothing.low == -nothing.high < 0
    hits, documents = np.tile([0.0, 1.0], 10), np.repeat(np.arange(10), 2)
    assert bootstrap_mean(hits, documents) == bootstrap_mean(hits, np.arange(20))
    assert bootstrap_mean(hits, documents).low < 0.4


def test_mcnemar_is_exact() -> None:
    assert mcnemar(np.array([1.0] * 10 + [-1.0] * 2 + [0.0] * 50)) == pytest.approx(0.03857, abs=1e-5)
    assert mcnemar(np.zeros(5)) == 1.0


def test_permutation_test_swaps_units() -> None:
    before, after = np.zeros(8), np.arange(1, 9) / 8
    assert permutation(before, after, np.arange(8)) == pytest.approx(2 / 2**8)
    assert permutation(before, after, np.arange(8) // 2) == pytest.approx(2 / 2**4)
    assert permutation(after, after, np.arange(8)) == 1.0
    assert permutation(np.zeros(1), np.ones(1), np.arange(1)) == 1.0
    many = np.random.default_rng(0).random((2, 200))
    assert permutation(*many, np.arange(200)) > 0.05
    assert permutation(many[0], many[0] + 0.1, np.arange(200)) < 0.001


@pytest.mark.parametrize(
    ("found", "corrected"), [([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9], [1.0, 1.0]), ([], [])]
)
def test_holm_correction(found: list[float], corrected: list[float]) -> None:
    assert holm(found) == pytest.approx(corrected)


def test_kappa() -> None:
    found = kappa(list("gbgg"), list("gbbg"))
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert -1 <= found.low < 0.5 < found.high < 1
    perfect = kappa(list("gb") * 20, list("gb") * 20)
    assert perfect is not None
    assert perfect == (1.0, pytest.approx(0.82, abs=0.01), pytest.approx(1.0))
    assert kappa(list("gg"), list("gb")) is None


def test_contrast_shares_matches_newcombe_example() -> None:
    found = contrast_shares(outcomes(48, 80), outcomes(56, 70))
    assert found is not None
    # Newcombe (1998), table II, example (a), method 10.
    assert (found.gain, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert 0.005 < found.p < 0.02
    assert 0.2 < found.detectable(1) < found.detectable(10) < 0.4
    back = contrast_shares(outcomes(56, 70), outcomes(48, 80))
    assert back is not None
    assert (back.gain, back.low, back.high) == pytest.approx((-found.gain, -found.high, -found.low))
    assert back.p == pytest.approx(found.p)


def test_contrast_values_counts_ties_half() -> None:
    before, after = np.array([1.0, 2, 3, 4]), np.array([2.0, 4, 5])
    found = contrast_values(before, after)
    assert found is not None
    assert found.gain == pytest.approx(np.mean([(a > b) + 0.5 * (a == b) for a in after for b in before]) - 0.5)
    assert -0.5 <= found.low < found.gain < found.high <= 0.5
    same = contrast_values(np.ones(5), np.ones(7))
    assert same is not None
    assert (same.gain, same.p) == (0.0, 1.0)
    assert same.low < 0 < same.high


def test_contrast_values_interval_has_nominal_coverage() -> None:
    rng = np.random.default_rng(0)
    truth = 0.2602  # for normal distributions with means 1 apart
    covered = 0
    for _ in range(200):
        found = contrast_values(rng.normal(0, 1, 40), rng.normal(1.0, 1, 60))
        assert found is not None
        covered += found.low <= truth <= found.high
    assert covered / 200 == pytest.approx(0.95, abs=0.04)


def test_contrasts_of_too_few_values() -> None:
    assert contrast_shares(np.array([]), outcomes(1, 2)) is None
    assert contrast_values(np.array([1.0]), np.array([1.0, 2.0])) is None
    shares, values = contrast_shares(outcomes(1, 2), outcomes(1, 2)), contrast_values(np.arange(2.0), np.arange(2.0))
    assert shares is not None
    assert values is not None
    assert (shares.detectable(1), values.detectable(1)) == (1.0, 0.5)


@pytest.mark.parametrize(("good", "n"), [(90, 100), (0, 100), (2, 20), (50, 100)])
def test_detectable_share_difference_has_nominal_power(good: int, n: int) -> None:
    found = contrast_shares(outcomes(good, n), outcomes(good, n))
    assert found is not None
    counts = np.arange(n + 1)
    detected = []
    for share in (good / n + found.detectable(1), good / n - found.detectable(1)):
        before, after = binom.pmf(counts, n, good / n), binom.pmf(counts, n, share)
        likely = [(x, y) for x, y in product(counts, counts) if before[x] * after[y] > 1e-5]
        significant = [(x, y) for x, y in likely if fisher_exact([[y, n - y], [x, n - x]]).pvalue < 0.05]
        detected.append(sum(before[x] * after[y] for x, y in significant))
    assert np.nanmax(detected) == pytest.approx(0.85, abs=0.075)


def test_detectable_gain() -> None:
    assert detectable_gain(Estimate(0, -0.1, 0.1), 100, 1, counted=False) == pytest.approx(0.143, abs=0.001)
    assert detectable_gain(Estimate(0, -0.1, 0.1), 100, 6, counted=False) > 0.143
    assert detectable_gain(Estimate(0, 0, 0), 100, 1, counted=True) == 0.06
    assert detectable_gain(Estimate(0, -0.9, 0.9), 10, 1, counted=False) == 1.0


@pytest.mark.parametrize(("questions", "disagreement"), [(60, 0.4), (200, 0.2), (500, 0.3)])
def test_detectable_difference_has_nominal_power(questions: int, disagreement: float) -> None:
    difference = detectable_difference(questions, disagreement)
    assert difference is not None
    rng = np.random.default_rng(0)
    wins = (disagreement + difference) / 2
    rows = rng.multinomial(questions, [wins, disagreement - wins, 1 - disagreement], size=600)
    rejected = [binomtest(int(one), int(one + other)).pvalue <= 0.05 for one, other, _ in rows]
    assert np.mean(rejected) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("questions", "disagreement"), [(0, 0.2), (1, 0.5), (5, 1.0), (12, 0.2)])
def test_too_few_questions_detect_nothing(questions: int, disagreement: float) -> None:
    assert detectable_difference(questions, disagreement) is None
