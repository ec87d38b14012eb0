"""What is read off a chunk ahead, with the real parser."""

import pytest
from scripted_program import TEXT, chunk_of, languages_with

from groundset.runtime.parser import Parser
from programs.analysis import read_chunk
from programs.evolutions import EVOLUTIONS
from programs.text import MAX_READ
from programs.types import Chunk, Context

STRUCK = TEXT[TEXT.index("On 22") :]
TEXTS = [
    TEXT,
    "It rained. It rained again.",
    "Tidepool is a small job queue that keeps its jobs in one file. In 2019 the council of Brannock chose Tidepool.",
    "Die Brücke über die Lahn wurde 1931 gebaut, weil die Fähre zu langsam war. Seit 1950 fahren dort Züge.",
    "",
]

BY_SYNTAX = {name: row.by_syntax for name, row in EVOLUTIONS.items() if row.by_syntax is not None}


def sentences_of(context: Context, evolution: str) -> set[str]:
    return {context.foci[place].sentence for place in context.evolvable[evolution]}


def test_read_chunk_finds_evolvable_foci(parser: Parser) -> None:
    context = read_chunk(chunk_of(), languages_with(parser))
    assert (context.language, context.parsed) == ("en", True)
    assert set(context.evolvable) == set(BY_SYNTAX)
    assert sentences_of(context, "conditional") == {STRUCK}  # "while avoiding a small fishing boat"
    assert STRUCK in sentences_of(context, "reasoning")  # "an unlit rock south of Sandgate"
    assert sentences_of(context, "simple") == {focus.sentence for focus in context.foci if focus.easy}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("parsed", [True, False])
def test_evolvable_foci_are_easy(parser: Parser, text: str, parsed: bool) -> None:
    parse = parser if parsed else None
    context = read_chunk(chunk_of(text), languages_with(parse))
    for name, by_syntax in BY_SYNTAX.items():
        evolvable = [
            place
            for place, focus in enumerate(context.foci)
            if focus.easy and by_syntax.can_evolve(focus, context, languages_with(parse))
        ]
        assert list(context.evolvable[name]) == evolvable
    assert list(context.evolvable["simple"]) == list(range(sum(focus.easy for focus in context.foci)))


def test_without_parser_answer_forms_make_foci_easy() -> None:
    context = read_chunk(chunk_of(), languages_with(None))
    assert not context.parsed
    assert {context.foci[place].answer for place in context.evolvable["simple"]} == {"2004", "22 February 2009"}
    assert sentences_of(context, "conditional") == {STRUCK}
    assert context.evolvable["reasoning"] == ()


def test_language_without_syntax_is_not_parsed(parser: Parser) -> None:
    context = read_chunk(chunk_of(TEXTS[3], title="Lahnbrücke"), languages_with(parser))
    assert (context.language, context.parsed) == ("de", False)


def test_passage_and_topic_have_no_markup() -> None:
    text = "The **Henn Lady** carries [36 cars](cars.md)."
    chunk = chunk_of(text, title="Henn *ferry*").model_copy(update={"headings": ("`Ships`",)})
    context = read_chunk(chunk, languages_with(None))
    assert (context.passage, context.topic) == ("The Henn Lady carries 36 cars.", "Henn ferry > Ships")
    assert context.chunk == chunk


def test_long_chunk_is_truncated() -> None:
    chunk = chunk_of("The Henn Lady carries 36 cars. " * 10_000, title="Henn " * 1_000)
    context = read_chunk(chunk, languages_with(None))
    assert len(context.passage) == MAX_READ
    assert len(context.topic) < 1_001
    assert context.chunk == chunk


def test_context_json_round_trip(parser: Parser) -> None:
    context = read_chunk(chunk_of(), languages_with(parser))
    assert Context.model_validate_json(context.model_dump_json()) == context
    assert isinstance(context.chunk, Chunk)
