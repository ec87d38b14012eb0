"""What a name can be described by, with the real parser and without one."""

import pytest

from groundset.runtime.parser import Parser, load_parser
from programs.linking import Link, link
from programs.types import Focus


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("en-core-web-sm")


def linked(passage: str, question: str, answer: str, parser: Parser | None) -> Link | None:
    return link(passage, "en", Focus(sentence=passage.split(". ")[0] + ".", answer=answer), question, parser)


def test_he_and_she_go_with_persons(parser: Parser) -> None:
    passage = "In 1931 {} led the work. {} had been there for years. She taught algebra at the harbour school."
    question = "In which year did {} lead the work?"
    for name, description in (("Maria Kolb", "taught algebra at the harbour school"), ("Microsoft", None)):
        found = linked(passage.format(name, name + "’s office"), question.format(name), "1931", parser)
        assert (found and found.predicate) == description
    anybody = linked(passage.format("Microsoft", "Microsoft’s office"), question.format("Microsoft"), "1931", None)
    assert anybody is not None  # without a parser nothing tells a person from a company


@pytest.mark.parametrize(
    "sentence",
    [
        "Thunderbird is a free, open source program for letters and news.",  # breaks off before its noun
        "Thunderbird is a program.",  # tells little
        "Thunderbird keeps their letters on the disk.",  # whose is not said
    ],
)
def test_what_says_nothing_of_a_name_does_not_describe_it(parser: Parser, sentence: str) -> None:
    passage = f"In 2012 Thunderbird passed to the volunteers of the community. {sentence}"
    assert linked(passage, "In which year did Thunderbird pass to the volunteers?", "2012", parser) is None
