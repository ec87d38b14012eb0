"""Commands, options and strategies mentioned in the documentation exist. No command is run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from groundset import commands
from optimizers.strategies import STRATEGIES

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "data" / "README.md", ROOT / "data" / "gold" / "README.md"]
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")


@pytest.fixture(scope="module")
def root() -> Any:
    return typer.main.get_command(commands.build_app(["generate"]))


def lines_of(page: str) -> Iterator[str]:
    """Yield the command lines of ``sh`` and ``console`` blocks, without prompts."""
    for kind, block in FENCE.findall(page):
        for line in block.replace("\\\n", " ").split("\n"):
            if kind == "sh" or line.startswith("$ "):
                yield line.removeprefix("$ ")


def calls_in(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of `groundset` in a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    called: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("();<>|&"):
            called.append([])
        else:
            called[-1].append(word)
    for words in called:
        if words[:1] == ["groundset"]:
            yield words[1:]


def parse(root: Any, words: list[str]) -> None:
    """Parse arguments with the real parsers, which raise on unknown ones."""
    command, name, parent = root, "groundset", None
    while hasattr(command, "commands"):
        parent = command.make_context(name, words, parent=parent)
        words = [*parent._protected_args, *parent.args]
        if not words:
            return
        name, command, words = command.resolve_command(parent, words)
    command.make_context(name, words, parent=parent)


def options_of(command: Any) -> Iterator[str]:
    yield from (name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts))
    for below in getattr(command, "commands", {}).values():
        yield from options_of(below)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_example_commands_parse(root: Any, page: Path) -> None:
    for line in lines_of(page.read_text(encoding="utf-8")):
        for words in calls_in(line):
            if "--help" not in words:  # see test_help_texts.py
                try:
                    parse(root, words)
                except typer.TyperException as error:
                    pytest.fail(f"{page.name}: groundset {shlex.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_mentioned_commands_and_options_exist(root: Any, page: Path) -> None:
    known = {*options_of(root), "--help", "-h"}
    for span in SPAN.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        words = span.split()
        if words[0] == "groundset":
            command = root
            while len(words) > 1 and hasattr(command, "commands"):
                assert words[1] in command.commands or words[1].startswith("-"), f"{page.name}: {span}"
                command, words = command.commands.get(words[1]), words[1:]
            known_here = {*options_of(command or root), "--help"}
        elif words[0].startswith("--"):
            known_here = known
        else:
            continue
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0].rstrip(",") in known_here, f"{page.name}: {span}"


def test_example_commands_are_found() -> None:
    calls = [words for page in PAGES for line in lines_of(page.read_text(encoding="utf-8")) for words in calls_in(line)]
    assert len([words for words in calls if "--help" not in words]) > 20
    assert ["promote", "RUN_ID"] in calls, "first of two commands in one line"


@pytest.mark.parametrize(
    "words", [["chunk", "x.md"], ["colour"], ["compile", "judge", "--dev", "3"], ["models", "lst"], ["judge", "x", "y"]]
)
def test_wrong_commands_do_not_parse(root: Any, words: list[str]) -> None:
    with pytest.raises(typer.TyperException):
        parse(root, words)


def test_documented_strategies() -> None:
    page = (ROOT / "docs" / "compilation.md").read_text(encoding="utf-8")
    table = page.split("| strategy | what it does |")[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == sorted(STRATEGIES)
