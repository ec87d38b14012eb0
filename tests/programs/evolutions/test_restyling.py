"""Wordings by rule: key words and typing errors."""

import random

import pytest

from programs.evolutions.keywords import keywords
from programs.evolutions.typos import with_typos
from programs.languages import LANGUAGES
from programs.text import has_words

ENGLISH, GERMAN = LANGUAGES["en"], LANGUAGES["de"]


@pytest.mark.parametrize(
    ("question", "language", "expected"),
    [
        ("When did the Henn Lady strike the Grey Widow?", ENGLISH, "when henn lady strike grey widow"),
        ("How many samples does version 2.1 of Gridfold hold?", ENGLISH, "how many samples version 2.1 gridfold hold"),
        ("In welchem Jahr verkaufte die Familie Aumann das Schloss?", GERMAN,
         "welchem jahr verkaufte familie aumann schloss"),
        ("Who was it?", ENGLISH, None),
        ("Which protocol does not work with Gridfold 4?", ENGLISH, None),
        ("Which ferry doesn't call at Tollvik?", ENGLISH, None),
        ("Welche Fähre fährt ohne Diesel nach Tollvik?", GERMAN, None),
        ("Why is the product v^H A v real for a Hermitian matrix?", ENGLISH, None),
    ],
)  # fmt: skip
def test_keywords_keep_what_is_asked_for_and_what_carries_meaning(question, language, expected):
    assert keywords(question, language, random.Random(0)) == expected


@pytest.mark.parametrize("seed", range(50))
def test_typos_leave_names_numbers_and_short_words(seed):
    question = "Which warden of Tollvik kept the western lighthouse for twenty-two years until 1983?"
    written = with_typos(question, ENGLISH, random.Random(seed))
    assert written is not None
    before, after = question.split(), written.split()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 2
    for old, new in changed:
        assert old in ("warden", "western", "lighthouse", "years", "until")
        assert (old[0], abs(len(old) - len(new)) <= 1) == (new[0], True)
    assert has_words(written, "Tollvik")
    assert written == with_typos(question, ENGLISH, random.Random(seed))


def test_a_short_question_has_one_typo_and_one_of_names_none():
    written = with_typos("Who kept the western light?", ENGLISH, random.Random(1))
    assert (
        sum(old != new for old, new in zip(["Who", "kept", "the", "western", "light?"], written.split(), strict=True))
        == 1
    )
    assert with_typos("Who is Ada Lund?", ENGLISH, random.Random(1)) is None
