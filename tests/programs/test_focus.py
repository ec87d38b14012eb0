"""What questions are asked about, and what evolutions grow from."""

import pytest

from programs.answers import opening, spans, without_answer
from programs.focus import choose_foci
from programs.linking import condition_in, describe, link
from programs.types import Focus

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


def test_a_name_is_linked_to_another_sentence_and_described() -> None:
    focus = Focus(sentence=PASSAGE.split(". ")[1] + ".", answer="22 February 2009")
    linked = link(PASSAGE, "en", focus, "On what date did the Henn Lady strike the Grey Widow?")
    assert linked is not None
    assert (linked.name, linked.predicate) == (
        "Henn Lady",
        "carries 36 cars and was built at the Lodrin yard in 2004",
    )
    assert describe("When did the Henn Lady strike the Grey Widow?", linked, "a ferry") == (
        "When did the ferry that carries 36 cars and was built at the Lodrin yard in 2004 strike the Grey Widow?"
    )
    for useless in ("", "36", "Henn Lady is a very fine old ship indeed", "桥"):
        assert describe("On what date did the Henn Lady strike?", linked, useless) is None
    assert link(PASSAGE, "de", focus, "On what date did the Henn Lady strike the Grey Widow?") is None


def test_a_condition_is_a_clause_that_the_question_does_not_name_yet() -> None:
    sentence = PASSAGE.split(". ")[1]
    focus = Focus(sentence=sentence, answer="22 February 2009")
    assert condition_in(focus, "On what date did it strike?", "en") == "while avoiding a small fishing boat"
    assert condition_in(focus, "What did it strike while avoiding a small fishing boat?", "en") is None
    stop = Focus(sentence="The village was evacuated, because the dam had failed at 01:50.", answer="01:50")
    assert condition_in(stop, "When?", "en") is None
    assert condition_in(focus.model_copy(update={"answer": "fishing boat"}), "When?", "en") is None


def test_a_pronoun_goes_with_the_sentence_before_it() -> None:
    passage = "The Lowen Link was opened in 1931 by the engineer Maria Kolb. It replaced a slow steam ferry."
    focus = Focus(sentence=passage.split(". ")[0] + ".", answer="Maria Kolb")
    linked = link(passage, "en", focus, "Which engineer opened the Lowen Link?")
    assert linked is not None
    assert linked.predicate == "replaced a slow steam ferry"


def test_a_clause_with_who_or_which_describes_a_name_even_in_the_focus() -> None:
    sentence = "In 1911 the harbour board hired Ilse Rademaker, who had built two locks at Tarn, for nine years."
    focus = Focus(sentence=sentence, answer="nine years")
    linked = link(sentence, "en", focus, "For how long did the harbour board hire Ilse Rademaker?")
    assert linked is not None
    assert (linked.name, linked.predicate) == ("Ilse Rademaker", "had built two locks at Tarn")
    told = focus.model_copy(update={"answer": "two locks"})
    assert link(sentence, "en", told, "What had Ilse Rademaker built?") is None


def test_a_phrase_that_opens_the_sentence_is_a_condition() -> None:
    focus = Focus(
        sentence="Under the charter of 1604, the town of Ambel kept one third of the toll.", answer="one third"
    )
    assert condition_in(focus, "How much of the toll did Ambel keep?", "en") == "under the charter of 1604"
    assert condition_in(focus, "How much did Ambel keep under the charter of 1604?", "en") is None
    assert condition_in(focus.model_copy(update={"answer": "1604"}), "When?", "en") is None
    later = focus.model_copy(update={"sentence": "The town of Ambel kept one third of the toll under the charter."})
    assert condition_in(later, "How much of the toll did Ambel keep?", "en") is None


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
