"""The step ``describe``: a phrase in the place of a name."""

import pytest

from programs.steps.describe import replace_name


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
def test_replace_name(name: str, phrase: str, expected: str) -> None:
    assert replace_name("Who built the Grey Mill in the Grey Millet?", name, phrase) == expected
