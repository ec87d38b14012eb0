"""Words that a model says it copied are found in the passage, or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.quotes import find_quote, find_quotes

MOTH = (
    "The caterpillars, which hatch in May, feed only on the leaves of the grey willow (Salix).\n"
    "In 2009 the river Ansa was given back its old bed."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("hatch in May", "hatch in May"),
        ("“hatch in May”", "hatch in May"),
        ("The caterpillars which hatch in may feed only on leaves of the grey willow", MOTH[: MOTH.index(" (")]),
        ("of the grey willow (Salix). In 2009 the river Ansa", "of the grey willow (Salix).\nIn 2009 the river Ansa"),
        ("In 2008 the river Ansa was given back its old bed", None),  # another number is no small difference
        ("The caterpillars eat the bark of oaks in June", None),
        ("", None),
        ("of", None),
    ],
)
def test_find_quote_allows_small_differences(quote: str, found: str | None) -> None:
    assert find_quote(MOTH, quote) == found


@pytest.mark.parametrize("gap", [" … ", " ... ", " [...] ", " | "])
def test_find_quotes_needs_every_piece(gap: str) -> None:
    assert find_quotes(MOTH, f"hatch in May{gap}the river Ansa") == ["hatch in May", "the river Ansa"]
    assert find_quotes(MOTH, f"hatch in May{gap}the lake of Ostry is deep") is None
    assert find_quotes(MOTH, gap) is None


def test_find_quotes_matches_lists_over_lines() -> None:
    passage = "Verfahren:\n• Fräsen mit einem Formfräser\n• Schleifen\n• Stoßen\n\nMehr ist nicht bekannt."
    quote = "• Fräsen mit einem Formfräser\n• Schleifen\n• Stoßen"
    assert find_quotes(passage, quote) == [quote]


@given(st.text(max_size=80), st.text(max_size=200))
def test_find_quote_returns_words_of_the_passage(quote: str, passage: str) -> None:
    found = find_quote(passage, quote)
    assert found is None or found in passage
