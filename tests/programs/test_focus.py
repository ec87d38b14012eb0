"""What questions are asked about, and what evolutions grow from."""

from programs.focus import choose_foci
from programs.languages import LANGUAGES

ENGLISH = LANGUAGES["en"]

PASSAGE = (
    "The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004. "
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat. It was out of service for nine weeks."
)


def test_key_phrases_and_different_sentences_come_first() -> None:
    foci = choose_foci(PASSAGE, "Henn Lady", ENGLISH, ["Grey Widow", "Lodrin yard", "not in the text"])
    assert all(focus.answer in focus.sentence and focus.sentence in PASSAGE for focus in foci)
    assert {focus.sentence for focus in foci[:2]} == {focus.sentence for focus in foci if "Lady" in focus.sentence}
    assert "Grey Widow" in {focus.answer for focus in foci}
    assert foci == choose_foci(PASSAGE, "Henn Lady", ENGLISH, ["Grey Widow", "Lodrin yard", "not in the text"])


def test_too_long_sentence_has_no_foci() -> None:
    numbers = "1," * 1_000
    assert not choose_foci(f"The Henn Lady and the Grey Widow carry {numbers} cars.", "Ferries", ENGLISH)


def test_topic_is_no_answer() -> None:
    assert all(focus.answer != "Henn Lady" for focus in choose_foci(PASSAGE, "The Henn Lady", ENGLISH, ["Henn Lady"]))


def test_easy_forms_make_foci_easy() -> None:
    assert not any(focus.easy for focus in choose_foci(PASSAGE, "Henn Lady", ENGLISH))
    easy = [focus.answer for focus in choose_foci(PASSAGE, "Henn Lady", ENGLISH, easy_forms=True) if focus.easy]
    assert "22 February 2009" in easy
