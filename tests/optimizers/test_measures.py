"""Measures and thresholds on rows that can be counted by hand."""

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


def test_area_under_roc_counts_ordered_pairs() -> None:
    assert area_under_roc(GOOD, SCORES) == pytest.approx(5 / 6)
    assert area_under_roc(GOOD, np.full(5, 0.5)) == 0.5


def test_average_precision_is_the_mean_over_recall_steps() -> None:
    assert average_precision(GOOD, SCORES) == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_both_are_those_of_scikit_learn_ties_or_not() -> None:
    random = np.random.default_rng(0)
    for rows in (3, 20, 300):
        for scores in (random.random(rows), random.integers(0, 4, rows) / 4):
            good = np.append(random.random(rows - 2) < 0.3, [True, False])
            assert area_under_roc(good, scores) == pytest.approx(roc_auc_score(good, scores))
            assert average_precision(good, scores) == pytest.approx(average_precision_score(good, scores))


def test_a_bootstrap_interval_holds_its_value_and_repeats() -> None:
    first = bootstrap(area_under_roc, GOOD, SCORES)
    assert first.low <= first.value <= first.high
    assert first == bootstrap(area_under_roc, GOOD, SCORES)
    with pytest.raises(ValueError, match="good and bad"):
        bootstrap(area_under_roc, [True, True], [0.1, 0.2])


def test_a_paired_gain_of_nothing_is_nothing() -> None:
    assert paired_gain(area_under_roc, GOOD, SCORES, SCORES) == (0, 0, 0)
    assert paired_gain(area_under_roc, GOOD, -SCORES, SCORES).value == pytest.approx(4 / 6)


def test_documents_that_gain_together_make_a_gain_less_certain() -> None:
    good, before = [True, False] * 40, [0.5] * 80
    after = [0.9, 0.1] * 10 + [0.5] * 60  # one document of four
    by_rows = paired_gain(area_under_roc, good, before, after)
    by_documents = paired_gain(area_under_roc, good, before, after, [f"d{n // 20}" for n in range(80)])
    assert by_rows.value == by_documents.value > 0
    assert by_documents.high - by_documents.low > 2 * (by_rows.high - by_rows.low)


def test_an_interval_to_decide_by_is_seldom_wrong_about_few_documents() -> None:
    random = np.random.default_rng(0)
    units = [f"d{n // 4}" for n in range(20)]
    drawn_again = decided = 0
    for _ in range(300):
        after = np.repeat(random.normal(0, 0.1, 5), 4) + random.normal(0, 0.1, 20)
        drawn_again += mean_gain(np.zeros(20), after, units).low > 0
        decided += certain_gain(np.zeros(20), after, units).low > 0
    assert decided <= 0.05 * 300 < drawn_again
    same = certain_gain(np.zeros(20), after, units, best_of=10)
    assert same.value == mean_gain(np.zeros(20), after, units).value
    assert same.low < certain_gain(np.zeros(20), after, units).low
    with pytest.raises(ValueError, match="from one"):
        certain_gain([0.0, 0.0], [1.0, 1.0], ["d", "d"])


def test_shares_come_with_wilson_bounds() -> None:
    # 10 of 14 is the textbook case 0.4535 to 0.8828.
    value, low, high = share(10, 14)
    assert (value, low, high) == pytest.approx((0.7143, 0.4535, 0.8828), abs=1e-4)
    assert share(0, 0) == (0, 0, 1)
    # one-sided: z = 1.645, n = 10, all good: n / (n + z²)
    assert lower_bound(10, 10) == pytest.approx(10 / (10 + 1.6449**2), abs=1e-3)
    assert lower_bound(0, 0) == 0


def test_the_curve_counts_what_each_threshold_accepts() -> None:
    curve = precision_curve([True, False, True, True], [0.9, 0.5, 0.5, 0.2])
    assert [(p.threshold, p.accepted, p.good, p.recall) for p in curve] == [
        (pytest.approx(0.1), 4, 3, 1.0),
        (pytest.approx(0.35), 3, 2, pytest.approx(2 / 3)),
        (pytest.approx(0.7), 1, 1, pytest.approx(1 / 3)),
    ]
    assert point_at(curve, 0.3) == curve[1]
    assert point_at(curve, 0.75) is None


def test_the_lowest_threshold_that_keeps_the_promise_is_chosen() -> None:
    good = [True] * 60 + [False] * 60
    probability = [0.9 - n / 1000 for n in range(60)] + [0.4 - n / 1000 for n in range(60)]
    chosen = lowest_threshold(precision_curve(good, probability), 0.9)
    assert lower_bound(chosen.good, chosen.accepted) >= 0.9
    assert chosen.accepted == 62  # 60 of 62 has the bound 0.904, 60 of 63 has 0.886
    with pytest.raises(TargetPrecisionError, match=r"support no more than 0\.96"):
        lowest_threshold(precision_curve(good, probability), 0.99)


def test_a_handful_of_rows_supports_no_promise() -> None:
    with pytest.raises(TargetPrecisionError, match="5 labelled rows"):
        lowest_threshold(precision_curve([True] * 5, [0.9, 0.8, 0.7, 0.6, 0.5]), 0.5)


def test_an_interval_below_zero_reads_without_two_signs_in_a_row() -> None:
    assert str(Interval(0.824, 0.76, 0.88)) == "0.82 (0.76-0.88)"
    assert str(Interval(-0.012, -0.038, -0.001)) == "-0.01 (-0.04 to 0.00)"


def test_rows_of_one_document_make_an_interval_no_narrower() -> None:
    scores = [0.0, 1.0] * 4
    alone, twins = mean(scores), mean(scores * 10, [f"d{n}" for n in range(8)] * 10)
    assert twins.value == alone.value
    assert twins[1:] == pytest.approx(alone[1:])
    assert mean(scores * 10).high < alone.high
    assert mean(scores, ["d"] * 8) == alone, "one document says nothing of how documents differ"


def test_whole_documents_are_drawn_for_decisions() -> None:
    flags, scores = [True, False] * 8, [0.9, 0.1, 0.3, 0.6] * 4
    documents = [f"d{n // 4}" for n in range(16)]
    assert bootstrap(area_under_roc, flags, scores, documents).low == pytest.approx(0.75)
    apart = ["good" if flag else "bad" for flag in flags]
    assert bootstrap(area_under_roc, flags, scores, apart).value == pytest.approx(0.75)


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


def scored(*values: float, documents: int = 12, split: str = "dev") -> dict[tuple[str, str], Score]:
    return {(split, str(n)): Score(value, f"d{n % documents}") for n, value in enumerate(values)}


@pytest.mark.parametrize(
    ("after", "tried", "reason"),
    [
        (scored(*[0.6] * 12), 1, None),
        (scored(*[0.3] * 12), 1, "within noise"),
        (scored(*[0.3, 0.65] * 6, documents=4), 1, "too few documents"),
        # Half of the documents gain, and the rows of one count as one.
        (scored(*[0.2, 0.55] * 30, documents=60), 1, None),
        (scored(*[0.2, 0.55] * 30, documents=6), 1, "within noise"),
        (scored(*[0.1, *[0.6] * 4] * 2, 0.1, 0.6), 1, None),
        (scored(*[0.1, *[0.6] * 4] * 2, 0.1, 0.6), 40, "best of 40 candidates"),
    ],
)
def test_a_champion_must_be_beaten_beyond_noise(after: dict, tried: int, reason: str | None) -> None:
    before = scored(*[0.3] * 60)
    if reason is None:
        assert gains_over(before, after, tried)["dev"].low > 0
    else:
        with pytest.raises(PromotionError, match=reason):
            gains_over(before, after, tried)


def test_rows_that_two_were_not_both_measured_on_say_nothing() -> None:
    both = scored(*[0.3] * 12) | scored(0.3, split="test")
    assert gains_over(both, {("dev", "other"): Score(0.9, "d")}, 1) == {}
    better = scored(*[0.6] * 12, 0.0) | scored(0.1, split="test")
    gains = gains_over(both, better, 1)
    assert gains["dev"].value == pytest.approx(0.3)
    assert gains["test"].value == pytest.approx(-0.2)
