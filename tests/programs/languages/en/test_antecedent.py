"""Resolving pronouns and names, with the real parser."""

import pytest

from groundset.runtime.parser import Parser
from programs.focus import choose_foci
from programs.languages import LANGUAGES
from programs.languages.en.reading import EnglishSyntax

ENGLISH = LANGUAGES["en"]

FIRST = "Maria Kolb led the work on the Lowen Link in 1931."


@pytest.mark.parametrize(
    ("sentences", "topic", "alone"),
    [
        ((FIRST, "She taught algebra."), "Maria Kolb", "Maria Kolb taught algebra."),
        ((FIRST, "In 1933 she taught algebra."), "Maria Kolb", "In 1933 Maria Kolb taught algebra."),
        (
            ("Tidepool was written in 2016.", "It keeps jobs in one file."),
            "Tidepool 2",
            "Tidepool keeps jobs in one file.",
        ),
        ((FIRST, "She taught algebra."), "Lowen Link", None),  # not in title or headings
        ((FIRST, "It replaced a ferry."), "Maria Kolb", None),  # "it" is not a person
        ((FIRST, "The ferry sank.", "She taught algebra."), "Maria Kolb", None),  # "she" may be the ferry
        (("She taught algebra.",), "Maria Kolb", None),  # no sentence before it
    ],
)
def test_resolve_subjects(sentences: tuple[str, ...], topic: str, alone: str | None, parser: Parser) -> None:
    assert EnglishSyntax(parser).resolve_subjects(sentences, topic).get(sentences[-1]) == alone


def test_opening_uses_the_antecedent(parser: Parser) -> None:
    passage = "Maria Kolb led the work on the Lowen Link. In 1933 she joined the Tarn Institute of Technology."
    foci = choose_foci(passage, "Maria Kolb", ENGLISH, syntax=EnglishSyntax(parser))
    focus = next(focus for focus in foci if focus.answer == "1933")
    assert focus.opening == "In which year did Maria Kolb join the Tarn Institute of Technology"
    assert focus.sentence in passage
    assert focus.fact == "In 1933 Maria Kolb joined the Tarn Institute of Technology."


@pytest.mark.parametrize(
    ("title", "passage", "opening"),
    [
        (
            "Maria Kolb",
            "In 1933 Kolb left the Tarn Works in Lowen.",
            "In which year did Maria Kolb leave the Tarn Works in Lowen",
        ),
        (
            "Maria Kolb (engineer)",
            "In 1933 Kolb left the Tarn Works in Lowen.",
            "In which year did Maria Kolb leave the Tarn Works in Lowen",
        ),
        (
            "Maria Kolb",
            "In 1933 the Tarn Works published Kolb's drawings.",
            "In which year did the Tarn Works publish Maria Kolb's drawings",
        ),
        (
            "Maria Kolb",
            "In 1933 Maria Kolb left the Tarn Works in Lowen.",
            "In which year did Maria Kolb leave the Tarn Works in Lowen",
        ),
        (
            "Lowen Link",
            "In 1933 Kolb left the Tarn Works in Lowen.",
            "In which year did Kolb leave the Tarn Works in Lowen",
        ),
        (
            "Maria Kolb",
            "She was born in Lowen. Kolb left the Tarn Works in 1933.",
            "In which year did Maria Kolb leave the Tarn Works",
        ),
        (
            "Lowen Link",
            "The Lowen Link was planned by the engineer Maria Kolb. In 1933 Kolb left the Tarn Works in Lowen.",
            "In which year did Maria Kolb leave the Tarn Works in Lowen",
        ),
        # The title replaces its bare head noun.
        (
            "Rowing Club of Lowen",
            "In 1933 Maria Kolb joined the Club.",
            "In which year did Maria Kolb join the Rowing Club of Lowen",
        ),
        (
            "Rowing Club of Lowen",
            "In 1933 Maria Kolb joined the Tarn Club.",
            "In which year did Maria Kolb join the Tarn Club",
        ),
        # Two persons have this surname.
        (
            "Maria Kolb",
            "In 1933 Kolb left the Tarn Works in Lowen. Jakob Kolb stayed.",
            "In which year did Kolb leave the Tarn Works in Lowen",
        ),
    ],
)
def test_opening_has_full_names(title: str, passage: str, opening: str, parser: Parser) -> None:
    foci = choose_foci(passage, title, ENGLISH, syntax=EnglishSyntax(parser))
    assert next(focus.opening for focus in foci if focus.answer == "1933") == opening
