from time import process_time

import pytest

from programs.features import chunk_features
from programs.languages import LANGUAGES
from programs.text import MAX_QUESTION, MAX_READ, has_words, plain, plain_passage, truncate, without_brackets


def initials(text: str) -> float:
    """Return the feature that counts names with initials."""
    return chunk_features(text, "", LANGUAGES["en"])["initials"]


def test_without_brackets() -> None:
    assert without_brackets("The mill  (built in 1887) stands (again)(still).") == "The mill stands."


def test_long_texts_are_truncated() -> None:
    assert plain_passage(["a" * MAX_READ + "b", "*c*"]) == "a" * MAX_READ + "\n\nc"
    assert truncate({"question": "a" * MAX_QUESTION + "b", "passage": "a" * MAX_READ + "b"}) == {
        "question": "a" * MAX_QUESTION,
        "passage": "a" * MAX_READ,
    }


def test_plain_keeps_link_texts() -> None:
    text = "A *small* [mill](a.html) of `wood`[3] and ![stone](b.png) for 3 * 4 crowns[^1]."
    assert plain(text) == "A small mill of wood and stone for 3 * 4 crowns."


def test_has_words_ignores_possessive() -> None:
    assert has_words("Who opened Anna Brock's yard?", "Anna Brock")
    assert has_words("Who opened Anna Brock’s yard?", "brock")
    assert has_words("the mill's wheel", "mill's")
    assert not has_words("Who opened the Brockton yard?", "Brock")


@pytest.mark.parametrize(
    ("clean", "piece"), [(plain, "["), (plain, "!["), (plain, "[]("), (without_brackets, " "), (initials, "A. ")]
)
def test_patterns_take_linear_time(clean, piece) -> None:
    best = dict.fromkeys((10_000, 20_000), float("inf"))
    for _ in range(3):
        for size in best:
            text = "a" + piece * (size // len(piece)) + "b"
            start = process_time()
            clean(text)
            best[size] = min(best[size], process_time() - start)
    assert best[20_000] < 3 * best[10_000]
