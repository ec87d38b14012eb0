"""What questions are asked about, and what evolutions grow from."""

from programs.focus import choose_foci
from programs.languages import LANGUAGES

ENGLISH = LANGUAGES["en"]

PASSAGE = (
    "The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004. "
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat. It was out of service for nine weeks."
)


def test_key_phrases_are_asked_for_and_two_sentences_come_before_one_twice() -> None:
    foci = choose_foci(PASSAGE, "Henn Lady", ENGLISH, ["Grey Widow", "Lodrin yard", "not in the text"])
    assert all(focus.answer in focus.sentence and focus.sentence in PASSAGE for focus in foci)
    assert {focus.sentence for focus in foci[:2]} == {focus.sentence for focus in foci if "Lady" in focus.sentence}
    assert "Grey Widow" in {focus.answer for focus in foci}
    assert foci == choose_foci(PASSAGE, "Henn Lady", ENGLISH, ["Grey Widow", "Lodrin yard", "not in the text"])


def test_nothing_is_asked_of_a_sentence_without_end() -> None:
    numbers = "1," * 1_000
    assert not choose_foci(f"The Henn Lady and the Grey Widow carry {numbers} cars.", "Ferries", ENGLISH)


def test_the_topic_itself_is_no_answer() -> None:
    assert all(focus.answer != "Henn Lady" for focus in choose_foci(PASSAGE, "The Henn Lady", ENGLISH, ["Henn Lady"]))


def test_what_form_begins_is_easy_where_nothing_is_parsed() -> None:
    assert not any(focus.easy for focus in choose_foci(PASSAGE, "Henn Lady", ENGLISH))
    easy = [focus.answer for focus in choose_foci(PASSAGE, "Henn Lady", ENGLISH, easy_forms=True) if focus.easy]
    assert "22 February 2009" in easy
