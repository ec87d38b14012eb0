"""What a name can be described by, with the real parser."""

import pytest

from groundset.runtime.parser import Parser
from programs.languages.base import Link
from programs.languages.en.linking import describe
from programs.languages.en.reading import EnglishSyntax
from programs.types import Focus

ROCK = (
    "The Henn Lady carries 36 cars. On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of "
    "Sandgate."
)


def linked(parser: Parser, passage: str, question: str, answer: str, topic: str = "") -> Link | None:
    sentence = next(f"{part.rstrip('.')}." for part in passage.split(". ") if answer in part)
    return EnglishSyntax(parser).link(passage, topic, Focus(sentence=sentence, answer=answer), question)


def asked(parser: Parser, passage: str, question: str, answer: str, kind: str = "") -> str | None:
    found = linked(parser, passage, question, answer)
    return found and describe(question, found, kind)


def test_apposition_replaces_the_name(parser: Parser) -> None:
    question = "On what date did the Henn Lady strike the Grey Widow?"
    assert asked(parser, ROCK, question, "22 February 2009") == (
        "On what date did the Henn Lady strike the unlit rock south of Sandgate?"
    )


def test_predicate_with_kind_replaces_the_name(parser: Parser) -> None:
    question = "On what date did the Henn Lady strike a rock?"
    found = linked(parser, ROCK, question, "22 February 2009")
    assert found == Link("Henn Lady", "The Henn Lady carries 36 cars.", "carries 36 cars")
    assert describe(question, found, "a ferry") == "On what date did the ferry that carries 36 cars strike a rock?"
    for useless in ("", "36", "Henn Lady is a very fine old ship indeed", "桥"):
        assert describe(question, found, useless) is None


def test_definition_replaces_the_name(parser: Parser) -> None:
    passage = (
        "Tidepool is a small job queue that keeps its jobs in one file. In 2019 the council of Brannock chose Tidepool."
    )
    question = "In which year did the council of Brannock choose Tidepool?"
    assert asked(parser, passage, question, "2019") == (
        "In which year did the council of Brannock choose the small job queue that keeps its jobs in one file?"
    )


def test_relative_clause_replaces_the_name(parser: Parser) -> None:
    passage = "In 1911 the harbour board hired Ilse Rademaker, who had built two locks at Tarn, for nine years."
    question = "For how many years did the harbour board hire Ilse Rademaker?"
    assert asked(parser, passage, question, "nine years") == (
        "For how many years did the harbour board hire the person who had built two locks at Tarn?"
    )
    assert asked(parser, passage, "How many locks had Ilse Rademaker built?", "two locks") is None


def test_pronoun_is_resolved_for_linking(parser: Parser) -> None:
    passage = "The Lowen Link was opened in 1931 by Maria Kolb. It replaced a slow steam ferry."
    question = "In which year was the Lowen Link opened?"
    found = linked(parser, passage, question, "1931", "Lowen Link > History")
    assert found is not None
    assert found.predicate == "replaced a slow steam ferry"
    assert linked(parser, passage, question, "1931", "Bridges") is None  # nothing says that it is about the bridge


@pytest.mark.parametrize(
    "sentence",
    [
        "Thunderbird is a program.",  # tells little
        "Thunderbird keeps their letters on the disk.",  # whose is not said
        "The old Thunderbird reads letters from several servers.",  # another one
        "Thunderbird reads letters for the volunteers.",  # repeats the question
        "Thunderbird reads 2012 letters from several servers.",  # gives the answer away
    ],
)
def test_unsuitable_sentences_do_not_describe_a_name(parser: Parser, sentence: str) -> None:
    passage = f"In 2012 Thunderbird passed to the volunteers of the community. {sentence}"
    assert linked(parser, passage, "In which year did Thunderbird pass to the volunteers?", "2012") is None


@pytest.mark.parametrize(
    "question",
    [
        "On what date did the Grey Widow's lamp go out?",  # the lamp is described otherwise
        "On what date did a Grey Widow ferry sail?",  # a kind of ferry
        "What is the Grey Widow?",  # nothing else is asked
    ],
)
def test_name_inside_a_phrase_is_kept(parser: Parser, question: str) -> None:
    assert linked(parser, ROCK, question, "22 February 2009") is None


def test_predicates(parser: Parser) -> None:
    passage = (
        "Panels last for nine years. Maria Kolb had built two locks at Tarn. Tidepool is a small job queue for Python."
    )
    assert EnglishSyntax(parser).predicates(passage, "") == [
        Link("Maria Kolb", "Maria Kolb had built two locks at Tarn.", "had built two locks at Tarn")
    ]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("She taught algebra at the harbour school.", "person"),
        ("Kolb taught algebra at the harbour school.", ""),  # a single word may be the name of anything
    ],
)
def test_personal_pronoun_marks_a_person(parser: Parser, sentence: str, kind: str) -> None:
    passage = f"Kolb became the head of the Tarn Institute in 1931. Kolb lived in Lowen with two brothers. {sentence}"
    question = "In which year did Kolb become the head of the Tarn Institute?"
    found = linked(parser, passage, question, "1931", "Kolb")
    assert found is not None
    assert (found.predicate, found.kind) == ("lived in Lowen with two brothers", kind)
