"""Loading a parser of the catalogue."""

from typing import Any

import pytest

from groundset.models.catalogue import get_entry
from groundset.runtime.parser import load_parser
from programs.errors import UnknownModelError


def test_load_parser() -> None:
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


def token_rows(sentence: Any) -> list[tuple[Any, ...]]:
    return [(t.text, t.lemma_, t.tag_, t.pos_, t.dep_, t.head.i, t.ent_type_, t.ent_iob_) for t in sentence]


def test_read_ahead_gives_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, ahead = load_parser("en-core-web-sm"), load_parser("en-core-web-sm")
    expected = [token_rows(alone(sentence, "en")) for sentence in SENTENCES]
    ahead.read_ahead(iter([*SENTENCES, *SENTENCES]), "en")
    monkeypatch.setattr(ahead._pipeline, "tokenizer", None)  # cached sentences are not parsed again
    assert [token_rows(ahead(sentence, "en")) for sentence in SENTENCES] == expected
    ahead.read_ahead(SENTENCES, "en")
    ahead.read_ahead(["Die Brücke ist alt."], "de")
    assert ahead("Die Brücke ist alt.", "de") is None


def test_least_recently_used_sentence_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundset.runtime.parser._CACHE_SIZE", 3)
    parser = load_parser("en-core-web-sm")
    first, second = parser("One.", "en"), parser("Two.", "en")
    parser("Three.", "en")
    assert parser("One.", "en") is first
    parser.read_ahead(["Four."], "en")
    assert parser("One.", "en") is first
    assert parser("Two.", "en") is not second
    parser.read_ahead(SENTENCES, "en")
    assert len(parser._cache) == 3


def test_long_sentence_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundset.runtime.parser._MAX_LENGTH", 10)
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
    ("name", "message"),
    [("en-core-web-lm", "did you mean en-core-web-sm"), ("all-minilm-l6-v2", "embedder")],
)
def test_name_that_is_not_a_parser(name: str, message: str) -> None:
    with pytest.raises(UnknownModelError, match=message):
        load_parser(name)
