"""The parser of the guided recipe, and the commands."""

import json
from typing import Any

import pytest

from groundset.models import open as opening
from groundset.models.fetch import ListOptions, PullOptions, list_models, pull_models
from groundset.models.open import Parser, open_parser
from programs.errors import UnknownModelError

SENTENCES = [
    "The bridge was opened in 1931.",
    "It replaced a ferry (1902) that Maria Kolb, its engineer, had planned!",
    "",
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate.",
]


@pytest.fixture(scope="module")
def opened() -> Parser:
    return open_parser("en-core-web-sm")


@pytest.fixture
def parser(opened: Parser) -> Parser:
    return Parser(opened.name, opened.sha256, opened._pipeline)


def rows(sentence: Any) -> list[tuple[Any, ...]]:
    return [(t.text, t.lemma_, t.tag_, t.pos_, t.dep_, t.head.i, t.ent_type_, t.ent_iob_) for t in sentence]


@pytest.mark.model
def test_read_ahead_gives_the_same_results(opened: Parser, parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (parser.name, parser.language) == ("en-core-web-sm", "en")
    assert [entity.label_ for entity in opened(SENTENCES[0]).ents] == ["DATE"]
    expected = [rows(opened(sentence)) for sentence in SENTENCES]
    parser.read_ahead(iter([*SENTENCES, *SENTENCES]))
    monkeypatch.setattr(parser, "_pipeline", None)  # what is cached is not parsed again
    assert [rows(parser(sentence)) for sentence in SENTENCES] == expected


@pytest.mark.model
def test_limits(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_CACHE_SIZE", 2)
    monkeypatch.setattr(opening, "_MAX_LENGTH", 10)
    first, second = parser("One."), parser("Two.")
    assert parser("One.") is first
    assert parser("The bridge was opened.").text == "The bridge"
    assert parser("One.") is first
    assert parser("Two.") is not second  # the one that was not used for longest was dropped


def test_commands(capsys: pytest.CaptureFixture[str], home: Any) -> None:
    list_models(ListOptions())
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:6] == ["qwen2.5-coder-0.5b", "generator", "491.4", "MB", "Apache-2.0", "no"]
    list_models(ListOptions(as_json=True))
    models = json.loads(capsys.readouterr().out)["models"]
    assert {"name", "role", "size", "licence", "cached", "note"} == models[-1].keys()
    with pytest.raises(UnknownModelError, match="no model 'x'"):
        pull_models(PullOptions(names=("smollm2-135m", "x")))  # before anything is downloaded
    with pytest.raises(UnknownModelError, match="not parser"):
        open_parser("smollm2-135m")


@pytest.mark.model
def test_pull_prints_paths(smollm2: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pull_models(PullOptions(names=("smollm2-135m",)))
    assert capsys.readouterr().out == f"{smollm2}\n"
