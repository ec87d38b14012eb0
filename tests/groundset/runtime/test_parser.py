"""Loading a parser of the catalogue."""

from typing import Any

import pytest

from groundset.models.catalogue import get_entry
from groundset.runtime.parser import load_parser
from programs.errors import UnknownModelError


def test_a_parser_has_the_hash_of_its_weights() -> None:
    parser = load_parser("en-core-web-sm")
    assert (parser.name, parser.sha256) == ("en-core-web-sm", get_entry("en-core-web-sm").sha256)
    parsed = parser("The bridge was opened in 1931.", "en")
    assert parsed is not None
    assert [entity.label_ for entity in parsed.ents] == ["DATE"]


SENTENCES = [
    "The bridge was opened in 1931.",
    "It replaced a ferry (1902) that Maria Kolb, its engineer, had planned!",
    "Where",
    "",
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate.",
]


def told(sentence: Any) -> list[tuple[Any, ...]]:
    return [(t.text, t.lemma_, t.tag_, t.pos_, t.dep_, t.head.i, t.ent_type_, t.ent_iob_) for t in sentence]


def test_what_is_read_ahead_is_as_if_it_was_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, ahead = load_parser("en-core-web-sm"), load_parser("en-core-web-sm")
    expected = [told(alone(sentence, "en")) for sentence in SENTENCES]
    ahead.read_ahead(iter([*SENTENCES, *SENTENCES]), "en")
    monkeypatch.setattr(ahead._pipeline, "tokenizer", None)  # what is remembered is not parsed again
    assert [told(ahead(sentence, "en")) for sentence in SENTENCES] == expected
    ahead.read_ahead(SENTENCES, "en")
    ahead.read_ahead(["Die Brücke ist alt."], "de")
    assert ahead("Die Brücke ist alt.", "de") is None


def test_what_was_longest_not_asked_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundset.runtime.parser._KEPT", 3)
    parser = load_parser("en-core-web-sm")
    first, second = parser("One.", "en"), parser("Two.", "en")
    parser("Three.", "en")
    assert parser("One.", "en") is first
    parser.read_ahead(["Four."], "en")
    assert parser("One.", "en") is first
    assert parser("Two.", "en") is not second
    parser.read_ahead(SENTENCES, "en")  # more than are kept
    assert len(parser._known) == 3


def test_of_a_sentence_without_end_the_beginning_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundset.runtime.parser._LONGEST", 10)
    parser = load_parser("en-core-web-sm")
    parser.read_ahead(["The bridge was opened."], "en")
    parsed = parser("The bridge was opened.", "en")
    assert parsed is not None
    assert parsed.text == "The bridge"


def test_none_parses_nothing() -> None:
    parser = load_parser("none")
    parser.read_ahead(SENTENCES, "en")
    assert (parser.name, parser.sha256) == ("none", None)
    assert parser("The bridge was opened in 1931.", "en") is None


@pytest.mark.parametrize(
    ("name", "told"),
    [("en-core-web-lm", "did you mean en-core-web-sm"), ("all-minilm-l6-v2", "another kind of model \\(embedder\\)")],
)
def test_what_is_no_parser_is_said_with_the_mend(name: str, told: str) -> None:
    with pytest.raises(UnknownModelError, match=told):
        load_parser(name)
