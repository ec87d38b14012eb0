"""Features of texts that can be computed by hand."""

import pytest

from groundset.programs.features import (
    answer_features,
    answers_agree,
    chunk_features,
    kind_agrees,
    question_features,
    shape,
)
from groundset.programs.languages import ENGLISH, LANGUAGES, language_of

PASSAGE = (
    "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria"
    " Kolb. It replaced a ferry that had carried up to 400 people a day."
)
REFERENCES = (
    "1. Kolb, M. (1931). The bridge. Journal of Harbours, vol. 3, pp. 4-9. doi:10.1/x\n"
    "2. Reuss, J. (1932). Retrieved 3 May 2001 from https://example.org\n3. ibid."
)


def test_chunk_features_separate_prose_from_references():
    text, references = (chunk_features(each, ENGLISH) for each in (PASSAGE, REFERENCES))
    assert text["citations"] == 0 < references["citations"]
    assert text["whole_sentences"] == 2
    assert text["list_share"] == 0 < references["list_share"]
    assert text["dependent_share"] == 0.5
    assert text["first_name_words"] == 1
    assert references["links"] > 0


def test_empty_texts_have_features():
    assert chunk_features(" ", ENGLISH).keys() == chunk_features(PASSAGE, ENGLISH).keys()
    assert question_features("", "", ENGLISH, ENGLISH)["coverage"] == 0
    assert answer_features("", "", "", ENGLISH)["mentions"] == 0


@pytest.mark.parametrize(
    ("question", "feature", "value"),
    [
        ("Which engineer led the work on the Lowen harbour bridge?", "context_reference", 0),
        ("Which year is mentioned in the passage?", "context_reference", 1),
        ("What did it replace?", "pronouns", 1),
        ("When was the bridge opened? Who led the work?", "several", 1),
        ("When was it opened and who led the work?", "several", 1),
        ("The bridge was opened in 1931.", "question_mark", 0),
        ("The bridge was opened in 1931.", "question_word", 0),
        (
            "In welchem Jahr wurde die Brücke von Lowen denn eigentlich eröffnet?",
            "other_language",
            1,
        ),
        ("How many people did the ferry carry in 1899?", "absent_numbers", 1),
        ("Who was Ida Lund?", "absent_names", 2),
        ("On what date did Gridfold 4 be released?", "ungrammatical", 1),
        ("In what year the bridge opened?", "ungrammatical", 1),
        ("In what year did the bridge open?", "ungrammatical", 0),
        ("What is the purpose?", "broad", 1),
        ("Which engineers opened the bridge in Oslo?", "coverage", 0.75),  # by stems
    ],
)
def test_question_features(question, feature, value):
    assert (
        question_features(question, PASSAGE, ENGLISH, LANGUAGES[language_of(question)])[feature]
        == value
    )


@pytest.mark.parametrize(
    ("code", "question", "fits", "fails"),
    [
        ("en", "How many people did the ferry carry?", "400 people", "Maria Kolb"),
        ("en", "In which year was the bridge opened?", "1931", "Maria Kolb"),
        ("en", "When was the bridge opened?", "in May", "Maria Kolb"),
        ("en", "When the bridge was opened in 1931, who led the work?", "Maria Kolb", "1931"),
        ("en", "Where was the bridge built?", "Lowen", "1931"),
        ("en", "Why was the bridge built?", "because the ferry was slow", "1931"),
        ("de", "Wie viele Menschen fuhren mit?", "400", "Lowen"),
        ("de", "Wie viele Menschen fuhren mit?", "zwölf", "Lowen"),
        ("fr", "Quand le pont fut-il ouvert ?", "1931", "Lowen"),
        ("es", "¿Cuántas personas viajaban?", "cuatro", "Lowen"),
    ],
)
def test_kind_agrees_checks_the_form_of_answers(code, question, fits, fails):
    assert kind_agrees(question, fits, LANGUAGES[code])
    assert not kind_agrees(question, fails, LANGUAGES[code])


def test_answer_features():
    good = answer_features(
        PASSAGE, "Which engineer led the work on the Lowen harbour bridge?", "Maria Kolb", ENGLISH
    )
    assert good["verbatim"] == 1
    assert good["supported"] == 1
    assert good["in_question"] == 0
    assert good["near"] == 1
    far = answer_features(PASSAGE, "What was opened in 1931?", "Maria Kolb", ENGLISH)
    assert far["near"] < good["near"]
    assert answer_features(PASSAGE, "What?", "Oslo", ENGLISH)["verbatim"] == 0


@pytest.mark.parametrize(
    ("found", "meant", "agree"),
    [
        ("Anselm Greve", "Greve", True),
        ("Greve", "Anselm Greve", True),
        ("Phoenix", "Phoenix Technologies", False),
        ("April 1892", "1892", True),
        ("1892", "April 1892", True),
        ("1893", "April 1892", False),
        ("2,000 guilders", "1,000 guilders", False),
        ("a small job queue", "a small job queue for Python that keeps its jobs in one file", True),
        ("queue for Python", "a small job queue for Python that keeps its jobs in one file", False),
        ("the town hall", "the town hall clock", False),
        ("safety, speed", "safety, and speed", True),
        ("the Tide Mill of Orsle", "Tide Mill", True),
        ("15 ewes", "fifteen ewes", True),
        ("three", "Three numbers", True),
        ("14 ewes", "fifteen ewes", False),
        ("", "1892", False),
    ],
)
def test_answers_agree(found, meant, agree):
    assert answers_agree(found, meant, ENGLISH) is agree


def test_shape_keeps_common_words_and_classes_others():
    found = shape("Who planned the Lowen Link in 1931?", {"who", "the", "in"})
    assert found == ["<start>", "who", "<word ed>", "the", "<name>", "in", "<number>", "?", "<end>"]
