import numpy as np
import pytest

from groundset.retrieval_eval.figures import Figure, detectable, holm, mcnemar, mean, permutation, units_of


def test_documents_are_drawn_where_questions_cluster():
    units, by_document = units_of([f"d{number // 3}" for number in range(30)])
    assert by_document
    assert units.tolist() == [number // 3 for number in range(30)]
    for documents in (["a", "a", "b"], [f"d{number}" for number in range(30)]):
        units, by_document = units_of(documents)
        assert not by_document
        assert units.tolist() == list(range(len(documents)))


def test_a_mean_lies_in_an_interval_that_is_wider_where_documents_agree():
    values = np.repeat(np.tile([0.0, 1.0], 10), 5)
    alone = mean(values, np.arange(100))
    clustered = mean(values, np.repeat(np.arange(20), 5))
    assert alone.value == clustered.value == 0.5
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * 0.05, abs=0.03)
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * 0.112, abs=0.05)
    assert clustered == mean(values, np.repeat(np.arange(20), 5))


def test_documents_weigh_as_many_questions_as_they_have():
    values = np.array([1.0] * 30 + [0.0] * 10)
    units = np.array([0] * 30 + list(range(1, 11)))
    assert mean(values, units).value == 0.75


def test_equal_values_have_an_interval_all_the_same():
    assert mean(np.ones(20), np.arange(20)) == Figure(1.0, pytest.approx(0.839, abs=0.001), 1.0)
    assert mean(np.zeros(20), np.arange(20)).low == 0.0
    nothing = mean(np.zeros(20), np.arange(20), lowest=-1.0)
    assert nothing.low == -nothing.high < 0


def test_mcnemar_is_exact():
    gains = np.array([1.0] * 10 + [-1.0] * 2 + [0.0] * 50)
    assert mcnemar(gains) == pytest.approx(0.03857, abs=1e-5)
    assert mcnemar(np.zeros(5)) == 1.0


def test_the_permutation_test_swaps_pairs_of_units():
    before, after = np.zeros(8), np.arange(1, 9) / 8
    assert permutation(before, after, np.arange(8)) == pytest.approx(2 / 2**8)
    assert permutation(before, after, np.arange(8) // 2) == pytest.approx(2 / 2**4)
    assert permutation(after, after, np.arange(8)) == 1.0
    rng = np.random.default_rng(0)
    many = rng.random((2, 200))
    assert permutation(*many, np.arange(200)) > 0.05
    assert permutation(many[0], many[0] + 0.1, np.arange(200)) < 0.001


def test_holm_corrects_step_by_step():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_more_questions_detect_less_and_more_tests_more():
    assert detectable(Figure(0, -0.1, 0.1), 100, 1, counted=False) == pytest.approx(0.143, abs=0.001)
    assert detectable(Figure(0, -0.1, 0.1), 100, 6, counted=False) > 0.143
    assert detectable(Figure(0, 0, 0), 100, 1, counted=True) == 0.06
    assert detectable(Figure(0, -0.9, 0.9), 10, 1, counted=False) == 1.0


def test_figures_read_well():
    assert str(Figure(0.0749, -0.0001, 0.1551)) == "0.07 (0.00 to 0.16)"


def test_documents_that_are_all_alike_do_not_make_a_mean_certain() -> None:
    hits, documents = np.tile([0.0, 1.0], 10), np.repeat(np.arange(10), 2)
    assert mean(hits, documents) == mean(hits, np.arange(20))
    assert mean(hits, documents).low < 0.4
