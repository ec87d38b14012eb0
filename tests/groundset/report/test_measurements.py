"""Measurements on words and embeddings."""

import numpy as np
import pytest

from groundset.report.measurements import (
    cut,
    distinct,
    first_words,
    lengths,
    mean_similarity,
    nearest_other,
    nearness,
    plane,
)

ROWS = np.random.default_rng(0).standard_normal((1100, 6)).astype(np.float32)


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = unit @ unit.T
    np.fill_diagonal(found, np.nan)
    return found


def test_similarity_of_all_pairs() -> None:
    assert nearest_other(ROWS) == pytest.approx(np.nanmax(cosines(ROWS), axis=1), abs=1e-5)
    assert mean_similarity(ROWS) == pytest.approx(np.nanmean(cosines(ROWS)), abs=1e-5)


@pytest.mark.parametrize("rows", [ROWS[:0], ROWS[:1]])
def test_similarity_of_fewer_than_two_rows(rows: np.ndarray) -> None:
    assert len(nearest_other(rows)) == 0
    assert mean_similarity(rows) is None


def test_similarity_of_a_zero_row() -> None:
    rows = np.vstack([np.zeros((1, 6), dtype=np.float32), ROWS[:2]])
    assert nearest_other(rows)[0] == 0


def test_plane() -> None:
    assert plane(ROWS[:2]) is None
    assert plane(np.ones((5, 6), dtype=np.float32)) is None
    flat = np.zeros((50, 6), dtype=np.float32)
    flat[:, 2:4] = ROWS[:50, :2]
    found = plane(flat)
    assert found is not None
    positions, explained = found
    assert explained == pytest.approx(1)
    before, after = (np.linalg.norm(points[:, None] - points[None], axis=2) for points in (flat, positions))
    assert after == pytest.approx(before, abs=1e-4)


def test_nearness() -> None:
    centres = np.eye(6, dtype=np.float32)
    rows = np.repeat(centres, 50, axis=0) + 0.05 * ROWS[:300]
    spread, clustered = nearness(rows, list(range(0, 300, 50))), nearness(rows, list(range(6)))
    assert spread is not None
    assert clustered is not None
    assert spread.mean > spread.chance > clustered.mean
    assert nearness(rows, []) is None
    assert nearness(rows[:2], [0, 1]) is None


def test_word_measurements() -> None:
    questions = ["What is it?", "what is THAT", "…", "東京の人口は何人ですか東京の人口は何人ですか東京の人口"]
    assert lengths(questions) == [3, 3, 0, 1]
    assert first_words(questions) == ["what", "what", "", "東京の人口は何人ですか東京の人口は何人ですか東京"]
    assert distinct(questions[:2], 1) == (4, 6)
    assert distinct(questions[:2], 2) == (3, 4)
    assert distinct(["Why?"], 2) == (0, 0)
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abc def", 4) == "abc …"
