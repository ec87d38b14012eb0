import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from groundset.commands import build_app, models_pull
from groundset.commands.output import tables
from groundset.models.catalogue import CATALOGUE
from programs.errors import UnknownModelError

runner = CliRunner()


def invoke(arguments):
    """Run `groundset models` with these arguments."""
    return runner.invoke(build_app(), ["models", *arguments])


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Ignore the width of the terminal that runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


def test_list_is_plain_without_a_terminal():
    result = invoke(["list"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == ["name", "role", "size", "licence", "cached", "note"]
    assert len(lines) == 6
    assert "poor questions" in result.output
    assert all(" no " in line for line in lines[1:])


def test_list_is_a_table_on_a_terminal(monkeypatch):
    monkeypatch.setattr(tables, "Console", lambda: Console(force_terminal=True, width=150))
    result = invoke(["list"])
    assert "┃" in result.output
    assert "qwen2.5-coder-0.5b" in result.output


@pytest.mark.parametrize("is_terminal", [True, False])
def test_list_in_sixty_columns(monkeypatch, is_terminal):
    if is_terminal:
        narrow = Console(force_terminal=True, width=60)
        monkeypatch.setattr(tables, "Console", lambda: narrow)
    else:
        monkeypatch.setenv("COLUMNS", "60")
    output = invoke(["list"]).output
    lines = [line.rstrip() for line in output.splitlines()]
    assert max(map(len, lines)) <= 60
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("name ")] == list(CATALOGUE)
    assert "licence  Apache-2.0" in lines
    assert all(entry.note in " ".join(output.split()) for entry in CATALOGUE.values())


def test_models_without_a_command_lists():
    assert invoke([]).output == invoke(["list"]).output != ""


def test_json_output():
    result = invoke(["list", "--json"])
    models = json.loads(result.stdout)["models"]
    assert [model["name"] for model in models] == list(CATALOGUE)
    for model in models:
        assert list(model) == ["name", "role", "size", "licence", "cached", "note"]
        assert model["size"] == CATALOGUE[model["name"]].size
        assert model["cached"] is False


def test_pull_prints_the_paths(monkeypatch):
    seen = []
    monkeypatch.setattr(models_pull, "pull_model", lambda name, hub: seen.append((name, hub)) or f"/cache/{name}")
    result = invoke(["pull", "--hub", "smollm2-135m", "all-minilm-l6-v2"])
    assert result.output == "/cache/smollm2-135m\n/cache/all-minilm-l6-v2\n"
    assert seen == [("smollm2-135m", True), ("all-minilm-l6-v2", True)]


def test_pull_checks_every_name_before_it_starts(monkeypatch):
    monkeypatch.setattr(models_pull, "pull_model", lambda name, hub: pytest.fail("pulled"))
    result = invoke(["pull", "smollm2-135m", "smollm"])
    assert isinstance(result.exception, UnknownModelError)
