"""What a sentence explains, with the real parser."""

import pytest

from groundset.runtime.parser import Parser
from programs.languages.en.askable import askable


def openings(parser: Parser, sentence: str, title: str = "") -> dict[str, str]:
    return {asked.opening: asked.answer for asked in askable(parser(sentence, "en"), title)}


@pytest.mark.parametrize(
    ("sentence", "opening", "answer"),
    [
        (
            "Tidepool is a small job queue for Python that keeps its jobs in a single file.",
            "What is Tidepool",
            "a small job queue for Python that keeps its jobs in a single file",
        ),
        (
            "Councillor Quist left the room in Ostrel because his firm may tender for the work.",
            "Why did Councillor Quist leave the room in Ostrel",
            "because his firm may tender for the work",
        ),
        (
            "Hollin Tarn Weir was built in 1961 to supply the paper mills of Sellbridge.",
            "Why was Hollin Tarn Weir built in 1961",
            "to supply the paper mills of Sellbridge",
        ),
        (
            "Gridfold 4 puts an index in front of every block, so that a partial file can be read.",
            "Why does Gridfold 4 put an index in front of every block",
            "so that a partial file can be read",
        ),
        (
            "The Lowen Link is named after Maria Kolb, who designed it.",
            "Who is the Lowen Link named after",
            "Maria Kolb",
        ),
        (
            "The lamps of the Lantern Raft Festival are made of brushed mulberry paper.",
            "What are the lamps of the Lantern Raft Festival made of",
            "brushed mulberry paper",
        ),
    ],
)
def test_explanations_are_asked_for(parser: Parser, sentence: str, opening: str, answer: str) -> None:
    assert openings(parser, sentence)[opening] == answer


@pytest.mark.parametrize(
    ("sentence", "begins"),
    [
        ("Gate 3 is the oldest part of Hollin Tarn Weir.", "What is"),  # many things are that
        ("The Star was an early opponent of the war in Iraq.", "What was"),  # and many more besides
        ("Such tiles are reported with the error code E207.", "What are"),  # which tiles
        ("Assays in Tarn are easy to perform with modern machines.", "Why"),  # no purpose
    ],
)
def test_vague_explanations_are_not_asked_for(parser: Parser, sentence: str, begins: str) -> None:
    assert not [opening for opening in openings(parser, sentence) if opening.startswith(begins)]


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("Folded proteins can be combined with other proteins for a purpose.", True),
        ("Electric lamps were combined with other lamps for a purpose.", False),  # which ones, then
    ],
)
def test_general_statement_needs_no_name(parser: Parser, sentence: str, named: bool) -> None:
    found = {asked.named for asked in askable(parser(sentence, "en"), "")}
    assert found == {named}
