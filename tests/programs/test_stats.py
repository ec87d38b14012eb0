"""Estimates, tests, corrections and minimum detectable gains."""

import numpy as np
import pytest

from groundset.programs.stats import (
    Estimate,
    bootstrap_mean,
    detectable_gain,
    holm,
    kappa,
    permutation,
    resampling_units,
    sight,
    spread_of,
    wilson,
)


def outcomes(good, n):
    return np.array([1.0] * good + [0.0] * (n - good))


def test_wilson_interval():
    assert wilson(9, 10) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)
    assert wilson(0, 0) is None
    assert str(Estimate(0.0749, -0.0001, 0.1551)) == "0.07 (0.00 to 0.16)"


def test_resampling_units_are_documents_if_there_are_enough():
    units, by_document = resampling_units([f"d{number // 3}" for number in range(30)])
    assert units.tolist() == [number // 3 for number in range(30)]
    assert by_document is True
    for documents in (["a", "a", "b"], [f"d{number}" for number in range(30)]):
        units, by_document = resampling_units(documents)
        assert units.tolist() == list(range(len(documents)))
        assert by_document is False


def test_bootstrap_interval_is_wider_for_clustered_documents():
    values = np.repeat(np.tile([0.0, 1.0], 10), 5)
    alone, clustered = (
        bootstrap_mean(values, units) for units in (np.arange(100), np.repeat(np.arange(20), 5))
    )
    assert alone.value == clustered.value == 0.5
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * 0.05, abs=0.03)
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * 0.112, abs=0.05)
    assert clustered == bootstrap_mean(values, np.repeat(np.arange(20), 5))
    documents = np.array([0] * 30 + list(range(1, 11)))
    assert bootstrap_mean(outcomes(30, 40), documents).value == 0.75


def test_bootstrap_interval_has_width_for_equal_values_or_documents():
    assert bootstrap_mean(np.ones(20), np.arange(20)) == Estimate(
        1.0, pytest.approx(0.839, abs=0.001), 1.0
    )
    assert bootstrap_mean(np.zeros(20), np.arange(20)).low == 0.0
    nothing = bootstrap_mean(np.zeros(20), np.arange(20), lowest=-1.0)
    assert nothing.low == -nothing.high < 0
    hits, documents = np.tile([0.0, 1.0], 10), np.repeat(np.arange(10), 2)
    assert bootstrap_mean(hits, documents) == bootstrap_mean(hits, np.arange(20))
    assert bootstrap_mean(hits, documents).low < 0.4


def test_permutation_test_swaps_units():
    gains = np.arange(1, 9) / 8
    assert permutation(gains, np.arange(8)) == pytest.approx(2 / 2**8)
    assert permutation(gains, np.arange(8) // 2) == pytest.approx(2 / 2**4)
    assert permutation(-gains, np.arange(8), alternative="less") == 1 / 2**8
    assert permutation(gains, np.arange(8), alternative="less") == 1.0
    assert permutation(np.zeros(8), np.arange(8)) == 1.0
    assert permutation(np.ones(1), np.arange(1)) == 1.0
    first, second = np.random.default_rng(0).random((2, 200))
    assert permutation(second - first, np.arange(200)) > 0.05
    assert permutation(np.full(200, 0.1), np.arange(200)) < 0.001


@pytest.mark.parametrize(
    ("found", "corrected"),
    [([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9], [1.0, 1.0]), ([], [])],
)
def test_holm_correction(found, corrected):
    assert holm(found) == pytest.approx(corrected)


def test_kappa():
    found = kappa(list("gbgg"), list("gbbg"))
    assert found.value == pytest.approx(0.5)
    assert -1 <= found.low < 0.5 < found.high < 1
    perfect = kappa(list("gb") * 20, list("gb") * 20)
    assert perfect == (1.0, pytest.approx(0.82, abs=0.01), pytest.approx(1.0))
    assert kappa(list("gg"), list("gb")) is None


def test_detectable_gain():
    assert detectable_gain(Estimate(0, -0.1, 0.1)) == pytest.approx(0.143, abs=0.001)
    assert detectable_gain(Estimate(0, -0.1, 0.1), 6) > 0.143
    assert detectable_gain(Estimate(0, -0.9, 0.9)) == 1.0


def test_what_questions_can_show():
    assert sight(sight(1).needed).smallest == pytest.approx(0.05, abs=0.001)
    assert sight(0).smallest == 1.0
    spread = spread_of(Estimate(0, -0.1, 0.1), 100)
    assert sight(100, spread).smallest == pytest.approx(detectable_gain(Estimate(0, -0.1, 0.1)))
    assert str(sight(20)).startswith("n=20 shows differences between two searches from about 16 ")
