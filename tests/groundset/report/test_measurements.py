"""What is measured on words and on embeddings."""

import numpy as np
import pytest

from groundset.report.measurements import (
    cut,
    distinct,
    first_words,
    lengths,
    mean_likeness,
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


def test_likeness_is_that_of_all_pairs() -> None:
    assert nearest_other(ROWS) == pytest.approx(np.nanmax(cosines(ROWS), axis=1), abs=1e-5)
    assert mean_likeness(ROWS) == pytest.approx(np.nanmean(cosines(ROWS)), abs=1e-5)


@pytest.mark.parametrize("rows", [ROWS[:0], ROWS[:1]])
def test_one_question_is_like_no_other(rows: np.ndarray) -> None:
    assert len(nearest_other(rows)) == 0
    assert mean_likeness(rows) is None


def test_an_empty_question_is_like_nothing() -> None:
    rows = np.vstack([np.zeros((1, 6), dtype=np.float32), ROWS[:2]])
    assert nearest_other(rows)[0] == 0


def test_a_map_needs_three_chunks_that_differ() -> None:
    assert plane(ROWS[:2]) is None
    assert plane(np.ones((5, 6), dtype=np.float32)) is None
    flat = np.zeros((50, 6), dtype=np.float32)
    flat[:, 2:4] = ROWS[:50, :2]
    found = plane(flat)
    assert found is not None
    places, shown = found
    assert shown == pytest.approx(1)
    before, after = (np.linalg.norm(points[:, None] - points[None], axis=2) for points in (flat, places))
    assert after == pytest.approx(before, abs=1e-4)


def test_what_stands_for_all_is_told_from_chance() -> None:
    centres = np.eye(6, dtype=np.float32)
    rows = np.repeat(centres, 50, axis=0) + 0.05 * ROWS[:300]
    spread, heaped = nearness(rows, list(range(0, 300, 50))), nearness(rows, list(range(6)))
    assert spread is not None
    assert heaped is not None
    assert spread.mean > spread.chance > heaped.mean
    assert nearness(rows, []) is None
    assert nearness(rows[:2], [0, 1]) is None


def test_words_are_counted_as_they_are_read() -> None:
    asked = ["What is it?", "what is THAT", "…", "東京の人口は何人ですか東京の人口は何人ですか東京の人口"]
    assert lengths(asked) == [3, 3, 0, 1]
    assert first_words(asked) == ["what", "what", "", "東京の人口は何人ですか東京の人口は何人ですか東京"]
    assert distinct(asked[:2], 1) == (4, 6)
    assert distinct(asked[:2], 2) == (3, 4)
    assert distinct(["Why?"], 2) == (0, 0)
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abc def", 4) == "abc …"
