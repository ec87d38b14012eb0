"""The parser of the guided recipe, and the commands."""

import json

import pytest
from refusal import refuses

from groundset.models import parser
from groundset.models.fetch import ListOptions, PullOptions, list_models, pull_models
from groundset.models.parser import Parser, open_parser
from groundset.programs.errors import UnknownModelError

SENTENCES = [
    "The bridge was opened in 1931.",
    "It replaced a ferry (1902) that Maria Kolb, its engineer, had planned!",
    "",
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate.",
]


@pytest.fixture(scope="module")
def opened() -> Parser:
    return open_parser("en-core-web-sm")


def rows(sentence):
    return [
        (t.text, t.lemma_, t.tag_, t.pos_, t.dep_, t.head.i, t.ent_type_, t.ent_iob_)
        for t in sentence
    ]


@pytest.mark.model
def test_sentences_are_parsed_together_with_the_same_results(opened):
    assert opened.name == "en-core-web-sm"
    expected = [rows(parsed) for sentence in SENTENCES for parsed in opened([sentence])]
    assert [rows(parsed) for parsed in opened([*SENTENCES, *SENTENCES])] == [*expected, *expected]


@pytest.mark.model
def test_long_sentences_are_cut(opened, monkeypatch):
    monkeypatch.setattr(parser, "_MAX_LENGTH", 10)
    [cut] = opened(["The bridge was opened."])
    assert cut.text == "The bridge"


def test_commands(capsys, home):
    list_models(ListOptions())
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:6] == ["qwen2.5-coder-0.5b", "generator", "491.4", "MB", "Apache-2.0", "no"]
    list_models(ListOptions(as_json=True))
    models = json.loads(capsys.readouterr().out)["models"]
    assert {"name", "role", "size", "licence", "cached", "origin", "note"} == models[-1].keys()
    with refuses("no model 'x'", UnknownModelError):
        pull_models(PullOptions(names=("smollm2-135m", "x")))  # before anything is downloaded
    with refuses("not parser", UnknownModelError):
        open_parser("smollm2-135m")


@pytest.mark.model
def test_pull_prints_paths(smollm2, capsys):
    pull_models(PullOptions(names=("smollm2-135m",)))
    assert capsys.readouterr().out == f"{smollm2}\n"
