"""The forms of short answers."""

import pytest

from programs.languages.table import Languages


def test_spans_are_dates_amounts_and_names(languages: Languages) -> None:
    sentence = "In May 1908 the Peat Railway carried 61,400 tonnes and between 0.8 and 2.4 per cent of the salt."
    assert languages["en"].spans(sentence) == ["May 1908", "Peat Railway", "61,400 tonnes", "0.8 and 2.4 per cent"]


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
def test_opening_depends_on_the_form_of_the_answer(
    answer: str, language: str, words: str, languages: Languages
) -> None:
    assert languages[language].opening(answer) == words


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
def test_without_answer_drops_the_time(question: str, answer: str, kept: str, languages: Languages) -> None:
    language = languages["de" if question.startswith("An ") else "en"]
    assert language.without_answer(question, answer) == kept
