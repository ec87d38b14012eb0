"""Measures and thresholds on rows with known results."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from optimizers.fit_critic import lowest_threshold, precision_curve
from optimizers.measures import (
    Interval,
    Score,
    area_under_roc,
    average_precision,
    bootstrap,
    certain_gain,
    detectable_gain,
    gains_over,
    lower_bound,
    mean,
    mean_gain,
    paired_deviation,
    paired_gain,
    share,
)
from programs.critics.curve import point_at
from programs.errors import PromotionError, TargetPrecisionError

GOOD = np.array([True, True, False, True, False])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.1])


def test_area_under_roc() -> None:
    assert area_under_roc(GOOD, SCORES) == pytest.approx(5 / 6)
    assert area_under_roc(GOOD, np.full(5, 0.5)) == 0.5


def test_average_precision() -> None:
    assert average_precision(GOOD, SCORES) == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_rank_measures_match_scikit_learn() -> None:
    random = np.random.default_rng(0)
    for rows in (3, 20, 300):
        for scores in (random.random(rows), random.integers(0, 4, rows) / 4):
            good = np.append(random.random(rows - 2) < 0.3, [True, False])
            assert area_under_roc(good, scores) == pytest.approx(roc_auc_score(good, scores))
            assert average_precision(good, scores) == pytest.approx(average_precision_score(good, scores))


def test_bootstrap_is_deterministic_and_contains_value() -> None:
    first = bootstrap(area_under_roc, GOOD, SCORES)
    assert first.low <= first.value <= first.high
    assert first == bootstrap(area_under_roc, GOOD, SCORES)
    with pytest.raises(ValueError, match="good and bad"):
        bootstrap(area_under_roc, [True, True], [0.1, 0.2])


def test_paired_gain() -> None:
    assert paired_gain(area_under_roc, GOOD, SCORES, SCORES) == (0, 0, 0)
    assert paired_gain(area_under_roc, GOOD, -SCORES, SCORES).value == pytest.approx(4 / 6)


def test_paired_gain_is_less_certain_by_documents() -> None:
    good, before = [True, False] * 40, [0.5] * 80
    after = [0.9, 0.1] * 10 + [0.5] * 60  # one document of four
    by_rows = paired_gain(area_under_roc, good, before, after)
    by_documents = paired_gain(area_under_roc, good, before, after, [f"d{n // 20}" for n in range(80)])
    assert by_rows.value == by_documents.value > 0
    assert by_documents.high - by_documents.low > 2 * (by_rows.high - by_rows.low)


def test_certain_gain_has_nominal_error_with_few_documents() -> None:
    random = np.random.default_rng(0)
    units = [f"d{n // 4}" for n in range(20)]
    by_bootstrap = by_student = 0
    for _ in range(300):
        after = np.repeat(random.normal(0, 0.1, 5), 4) + random.normal(0, 0.1, 20)
        by_bootstrap += mean_gain(np.zeros(20), after, units).low > 0
        by_student += certain_gain(np.zeros(20), after, units).low > 0
    assert by_student <= 0.05 * 300 < by_bootstrap
    same = certain_gain(np.zeros(20), after, units, best_of=10)
    assert same.value == mean_gain(np.zeros(20), after, units).value
    assert same.low < certain_gain(np.zeros(20), after, units).low
    with pytest.raises(ValueError, match="two documents"):
        certain_gain([0.0, 0.0], [1.0, 1.0], ["d", "d"])


def test_wilson_bounds() -> None:
    # 10 of 14 is the textbook case 0.4535 to 0.8828.
    value, low, high = share(10, 14)
    assert (value, low, high) == pytest.approx((0.7143, 0.4535, 0.8828), abs=1e-4)
    assert share(0, 0) == (0, 0, 1)
    # one-sided: z = 1.645, n = 10, all good: n / (n + z²)
    assert lower_bound(10, 10) == pytest.approx(10 / (10 + 1.6449**2), abs=1e-3)
    assert lower_bound(0, 0) == 0


def test_precision_curve() -> None:
    curve = precision_curve([True, False, True, True], [0.9, 0.5, 0.5, 0.2])
    assert [(p.threshold, p.accepted, p.good, p.recall) for p in curve] == [
        (pytest.approx(0.1), 4, 3, 1.0),
        (pytest.approx(0.35), 3, 2, pytest.approx(2 / 3)),
        (pytest.approx(0.7), 1, 1, pytest.approx(1 / 3)),
    ]
    assert point_at(curve, 0.3) == curve[1]
    assert point_at(curve, 0.75) is None


def test_lowest_threshold_reaches_target_precision() -> None:
    good = [True] * 60 + [False] * 60
    probability = [0.9 - n / 1000 for n in range(60)] + [0.4 - n / 1000 for n in range(60)]
    chosen = lowest_threshold(precision_curve(good, probability), 0.9)
    assert lower_bound(chosen.good, chosen.accepted) >= 0.9
    assert chosen.accepted == 62  # 60 of 62 has the bound 0.904, 60 of 63 has 0.886
    with pytest.raises(TargetPrecisionError, match=r"0\.96"):
        lowest_threshold(precision_curve(good, probability), 0.99)


def test_too_few_rows_support_no_threshold() -> None:
    with pytest.raises(TargetPrecisionError, match="5 labelled rows"):
        lowest_threshold(precision_curve([True] * 5, [0.9, 0.8, 0.7, 0.6, 0.5]), 0.5)


def test_interval_format() -> None:
    assert str(Interval(0.824, 0.76, 0.88)) == "0.82 (0.76-0.88)"
    assert str(Interval(-0.012, -0.038, -0.001)) == "-0.01 (-0.04 to 0.00)"


def test_repeated_rows_of_documents_do_not_narrow_interval() -> None:
    scores = [0.0, 1.0] * 4
    alone, repeated = mean(scores), mean(scores * 10, [f"d{n}" for n in range(8)] * 10)
    assert repeated.value == alone.value
    assert repeated[1:] == pytest.approx(alone[1:])
    assert mean(scores * 10).high < alone.high
    assert mean(scores, ["d"] * 8) == alone


def test_bootstrap_resamples_documents() -> None:
    flags, scores = [True, False] * 8, [0.9, 0.1, 0.3, 0.6] * 4
    documents = [f"d{n // 4}" for n in range(16)]
    assert bootstrap(area_under_roc, flags, scores, documents).low == pytest.approx(0.75)
    apart = ["good" if flag else "bad" for flag in flags]
    assert bootstrap(area_under_roc, flags, scores, apart).value == pytest.approx(0.75)


def test_detectable_gain_shrinks_with_rows() -> None:
    assert [round(detectable_gain(0.19, rows), 2) for rows in (10, 60, 300)] == [0.17, 0.07, 0.03]


def test_detectable_gain_has_nominal_power() -> None:
    random = np.random.default_rng(0)
    drawn = random.normal(detectable_gain(0.2, 60), 0.2, (4000, 60))
    found = np.abs(drawn.mean(axis=1)) > 1.96 * 0.2 / np.sqrt(60)
    assert found.mean() == pytest.approx(0.8, abs=0.02)


def test_paired_deviation() -> None:
    before = [0.1, 0.5, 0.9]
    assert paired_deviation(before, [[0.2, 0.6, 1.0]]) == pytest.approx(0)
    assert paired_deviation(before, [[0.2, 0.6, 1.0], [0.0, 0.5, 1.0]]) == pytest.approx((0.01 / 2) ** 0.5)
    assert paired_deviation(before, []) is None
    assert paired_deviation([0.1], [[0.2]]) is None


def scored(*values: float, documents: int = 12, split: str = "dev") -> dict[tuple[str, str], Score]:
    return {(split, str(n)): Score(value, f"d{n % documents}") for n, value in enumerate(values)}


@pytest.mark.parametrize(
    ("after", "tried", "reason"),
    [
        (scored(*[0.6] * 12), 1, None),
        (scored(*[0.3] * 12), 1, "not significant"),
        (scored(*[0.3, 0.65] * 6, documents=4), 1, "too few documents"),
        # Half of the documents gain; rows of a document are not independent.
        (scored(*[0.2, 0.55] * 30, documents=60), 1, None),
        (scored(*[0.2, 0.55] * 30, documents=6), 1, "not significant"),
        (scored(*[0.1, *[0.6] * 4] * 2, 0.1, 0.6), 1, None),
        (scored(*[0.1, *[0.6] * 4] * 2, 0.1, 0.6), 40, "best of 40 candidates"),
    ],
)
def test_gains_over_requires_significance(after: dict, tried: int, reason: str | None) -> None:
    before = scored(*[0.3] * 60)
    if reason is None:
        assert gains_over(before, after, tried)["dev"].low > 0
    else:
        with pytest.raises(PromotionError, match=reason):
            gains_over(before, after, tried)


def test_gains_over_uses_common_rows() -> None:
    both = scored(*[0.3] * 12) | scored(0.3, split="test")
    assert gains_over(both, {("dev", "other"): Score(0.9, "d")}, 1) == {}
    better = scored(*[0.6] * 12, 0.0) | scored(0.1, split="test")
    gains = gains_over(both, better, 1)
    assert gains["dev"].value == pytest.approx(0.3)
    assert gains["test"].value == pytest.approx(-0.2)
