"""Detection of duplicate questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.engine.duplicates import SIMILARITY, Duplicates, normalise

CLOSE = (1.0, 0.0)
FAR = (0.0, 1.0)


def vector(*values: float) -> np.ndarray:
    row = np.asarray(values, dtype=np.float32)
    return row / np.linalg.norm(row)


@pytest.fixture
def duplicates() -> Duplicates:
    return Duplicates(lambda texts: np.stack([vector(*CLOSE) for _ in texts]))


def test_duplicates_ignore_case_and_punctuation(duplicates):
    duplicates.add("What is a Lighthouse?", vector(*CLOSE))
    found = duplicates.find("what is  a “lighthouse” ?!", vector(*FAR))
    assert found == ("What is a Lighthouse?", 1.0)


def test_similar_vectors_are_duplicates(duplicates):
    duplicates.add("When did the tower open?", vector(*CLOSE))
    found = duplicates.find("In which year was the tower opened?", vector(1, 0.1))
    assert found is not None
    assert found[0] == "When did the tower open?"
    assert found[1] == pytest.approx(0.995, abs=0.001)
    assert duplicates.find("In which year was the tower opened?", vector(1, 1)) is None


def test_questions_with_different_numbers_are_distinct(duplicates):
    duplicates.add("How many ships came in 1910?", vector(*CLOSE))
    assert duplicates.find("How many ships came in 1911?", vector(*CLOSE)) is None
    duplicates.add("How many boats came in 1911?", vector(1, 0.05))
    found = duplicates.find("How many ships came in 1911?", vector(*CLOSE))
    assert found is not None
    assert found[0] == "How many boats came in 1911?"


def test_each_of_many_questions_is_found(duplicates):
    angles = np.linspace(0, np.pi, 200)
    for number, angle in enumerate(angles):
        duplicates.add(f"Question {'x' * number}?", vector(np.cos(angle), np.sin(angle)))
    for number, angle in enumerate(angles):
        found = duplicates.find(f"Other {'y' * number}?", vector(np.cos(angle), np.sin(angle)))
        assert found is not None
        assert found[0] == f"Question {'x' * number}?"
    assert duplicates.find("Other?", vector(0, -1)) is None


@given(st.text(), st.text())
def test_normalise_is_idempotent(one, other):
    assert normalise(normalise(one)) == normalise(one)
    assert normalise(f" {one}?! ") == normalise(one)


def test_similarity_threshold_is_in_paraphrase_range():
    assert 0.85 < SIMILARITY < 0.99


@pytest.mark.parametrize(
    ("answer", "chunks", "repeats"),
    [("Two years.", ["b", "a"], True), ("three years", ["a"], False), ("two years", ["c"], False)],
)
def test_shared_answer_and_chunk_lower_the_threshold(duplicates, answer, chunks, repeats):
    duplicates.add("How long did it bear the name?", vector(*CLOSE), answer="two years", chunks=["a"])
    near = vector(1, 1)
    found = duplicates.find("How much time passed before it was called Oil again?", near, answer=answer, chunks=chunks)
    assert (found is not None) is repeats
