"""The step ``describe``: a phrase in the place of a name."""

import pytest

from programs.steps.describe import in_place_of


@pytest.mark.parametrize(
    ("name", "phrase", "expected"),
    [
        ("Grey Mill", "the mill on the Tarn.", "Who built the mill on the Tarn in the Grey Millet?"),
        ("Grey Mill", "the Grey Mill of Ebbing", "Who built the Grey Mill in the Grey Millet?"),
        ("Grey Mill", " .", "Who built the Grey Mill in the Grey Millet?"),
        ("Lodrin", "a town", "Who built the Grey Mill in the Grey Millet?"),
        ("Grey Mill", r"the \1 mill", r"Who built the \1 mill in the Grey Millet?"),
    ],
)
def test_a_phrase_takes_the_place_of_a_name_with_its_article(name: str, phrase: str, expected: str) -> None:
    assert in_place_of(name, phrase, "Who built the Grey Mill in the Grey Millet?") == expected
