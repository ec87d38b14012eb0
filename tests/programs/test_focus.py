"""What questions are asked about, and what evolutions grow from."""

import pytest

from programs.answers import opening, spans, without_answer
from programs.focus import choose_foci

PASSAGE = (
    "The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004. "
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat. It was out of service for nine weeks."
)


def test_spans_are_dates_amounts_and_names() -> None:
    sentence = "In May 1908 the Peat Railway carried 61,400 tonnes and between 0.8 and 2.4 per cent of the salt."
    assert spans(sentence) == ["May 1908", "Peat Railway", "61,400 tonnes", "0.8 and 2.4 per cent"]


def test_key_phrases_come_first_and_each_sentence_before_any_twice() -> None:
    foci = choose_foci(PASSAGE, "Henn Lady", "en", ["Grey Widow", "Lodrin yard", "not in the text"])
    assert all(focus.answer in focus.sentence and focus.sentence in PASSAGE for focus in foci)
    assert {focus.sentence for focus in foci[:2]} == {focus.sentence for focus in foci if "Lady" in focus.sentence}
    assert "Grey Widow" in {focus.answer for focus in foci}
    assert foci == choose_foci(PASSAGE, "Henn Lady", "en", ["Grey Widow", "Lodrin yard", "not in the text"])


def test_the_topic_itself_is_no_answer() -> None:
    assert all(focus.answer != "Henn Lady" for focus in choose_foci(PASSAGE, "The Henn Lady", "en", ["Henn Lady"]))


@pytest.mark.parametrize(
    ("answer", "language", "words"),
    [
        ("1931", "en", "In which year"),
        ("9 June 1644", "en", "On what date"),
        ("6 per cent", "en", "What percentage"),
        ("41,300 tonnes", "en", "How many tonnes"),
        ("$3 million", "en", "How much"),
        ("Maria Kolb", "en", ""),
        ("1754", "de", "In welchem Jahr"),
        ("1754", "it", ""),
    ],
)
def test_the_form_of_an_answer_opens_its_question(answer: str, language: str, words: str) -> None:
    assert opening(answer, language) == words


@pytest.mark.parametrize(
    ("question", "answer", "kept"),
    [
        ("In which year did the mill of Orsle burn in 1893?", "1893", "In which year did the mill of Orsle burn?"),
        (
            "An welchem Tag traf das Heer am 5. Juli 1650 bei Osan ein?",
            "5. Juli 1650",
            "An welchem Tag traf das Heer bei Osan ein?",
        ),
        (
            "On what date, on 3 May 1900, did the pier of Ambel open?",
            "3 May 1900",
            "On what date did the pier of Ambel open?",
        ),
        ("What happened at Orsle in 1893?", "1893", "What happened at Orsle in 1893?"),
        ("In which year did the 1893 flood reach Orsle?", "1893", "In which year did the 1893 flood reach Orsle?"),
        ("When did it burn in 1893?", "1893", "When did it burn in 1893?"),
    ],
)
def test_a_time_that_gives_the_answer_away_is_dropped(question: str, answer: str, kept: str) -> None:
    assert without_answer(question, answer) == kept
