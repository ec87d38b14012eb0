import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from groundset.cli import models as command
from groundset.cli import tables
from programs.errors import UnknownModelError

runner = CliRunner()


def test_list_is_plain_when_not_a_terminal():
    result = runner.invoke(command.app, ["list"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == ["name", "role", "size", "licence", "cached", "note"]
    assert len(lines) == 6
    assert "poor questions" in result.output
    assert all(" no " in line for line in lines[1:])


def test_list_is_a_table_on_a_terminal(monkeypatch):
    monkeypatch.setattr(
        tables, "Console", lambda: __import__("rich.console").console.Console(force_terminal=True, width=150)
    )
    result = runner.invoke(command.app, ["list"])
    assert "┃" in result.output
    assert "qwen2.5-coder-0.5b" in result.output


def test_pull_prints_the_paths(monkeypatch):
    seen = []
    monkeypatch.setattr(command, "pull_model", lambda name, hub: seen.append((name, hub)) or f"/cache/{name}")
    result = runner.invoke(command.app, ["pull", "--hub", "smollm2-135m", "all-minilm-l6-v2"])
    assert result.output == "/cache/smollm2-135m\n/cache/all-minilm-l6-v2\n"
    assert seen == [("smollm2-135m", True), ("all-minilm-l6-v2", True)]


def test_pull_checks_every_name_before_it_starts(monkeypatch):
    monkeypatch.setattr(command, "pull_model", lambda name, hub: pytest.fail("pulled"))
    result = runner.invoke(command.app, ["pull", "smollm2-135m", "smollm"])
    assert isinstance(result.exception, UnknownModelError)


@pytest.mark.parametrize("arguments", [["--help"], ["list", "--help"], ["pull", "--help"]])
def test_help_speaks(arguments):
    result = runner.invoke(command.app, arguments)
    assert result.exit_code == 0
    assert "TODO" not in result.output


def test_importing_is_cheap():
    code = (
        "import sys, groundset.models, groundset.cli.models, groundset.retrieval.embedder;"
        "print({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "set()"
