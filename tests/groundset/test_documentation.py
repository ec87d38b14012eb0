"""docs/cli.md and the types of functions are made from the options, and every command and option
that documentation mentions exists.

Run this file as a script to renew docs/cli.md and groundset/__init__.pyi.
"""

import inspect
import io
import os
import re
import shlex
from contextlib import redirect_stdout, suppress
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer

import groundset
from groundset import api, cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
STUB = ROOT / "groundset" / "__init__.pyi"
MADE = "    # What follows is made from the options.\n"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "llms.txt",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("data/**/README.md"),
    ]
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
_GENERAL = """# The commands

{statuses}

`GROUNDSET_DEBUG=1` shows tracebacks. `groundset --install-completion` installs completion for
your shell. Tables that do not fit into a terminal are printed as one block a row; output to a file
or pipe is not wrapped unless `COLUMNS` sets a width. Models are kept in `~/.cache/groundset`;
`GROUNDSET_HOME` names another folder.

Every command is a function of the package with the same options, such as
`groundset.export(run, format="ragas", out="sets")`; where the command line takes the folder of a
run, Python also takes the run.
"""


def page():
    """Return docs/cli.md."""
    statuses = str(cli.__doc__).partition("\n\n")[2].strip()
    quotes = [(name, help_text(name)) for name in ("", *cli.COMMANDS)]
    sections = [
        f"\n{f'## {name}{chr(10) * 2}' if name else ''}```\n{text}```\n" for name, text in quotes
    ]
    return _GENERAL.format(statuses=statuses) + "".join(sections)


def help_text(command):
    """Return the help of a command at a width of 100 columns."""
    out, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with redirect_stdout(out), suppress(SystemExit):
            cli.main([*command.split(), "--help"])
    finally:
        os.environ.pop("COLUMNS")
        os.environ.update({"COLUMNS": before} if before else {})
    return re.sub(r" +$", "", out.getvalue(), flags=re.MULTILINE)


def test_page_of_commands_is_up_to_date():
    assert PAGE.read_text("utf-8") == page(), (
        f"run {Path(__file__).relative_to(ROOT)} to renew docs/cli.md"
    )


def typed(annotation):
    """Return a type as Python's callers see it: a run is its folder, one value may stand for
    several, and an object for its name.
    """
    parts = get_args(annotation)
    match get_origin(annotation):
        case kind if kind is Annotated:
            return " | ".join([typed(parts[0]), *(part for part in parts if isinstance(part, str))])
        case kind if kind in (Union, UnionType):
            return " | ".join(map(typed, parts))
        case kind if kind is tuple:
            return f"{typed(parts[0])} | Sequence[{typed(parts[0])}]"
        case kind if kind is dict:
            return f"str | Mapping[{', '.join(map(typed, parts))}]"
        case kind if kind is Literal:
            return str(annotation).removeprefix("typing.")
        case None:
            known = {Path: "str | Path | Run", NoneType: "None", Any: "Any"}
            return known.get(annotation) or annotation.__name__
        case kind:
            return f"{kind.__name__}[{', '.join(map(typed, parts))}]"


def declared(name, *, of_run):
    """Return the declaration of a function of options."""
    target, _ = api.FUNCTIONS[name]
    function = resolve_name(target)
    *own, last = inspect.signature(function).parameters.values()
    hints = get_type_hints(last.annotation, include_extras=True)
    types = {each.name: each.annotation for each in own} | hints
    lines, is_keyword = ["self"] if of_run else [], False
    for each in list(inspect.signature(getattr(groundset, name)).parameters.values())[of_run:]:
        if each.kind == each.KEYWORD_ONLY and not is_keyword:
            lines, is_keyword = [*lines, "*"], True
        default = "" if each.default is each.empty else " = ..."
        lines.append(f"{each.name}: {typed(types[each.name])}{default}")
    result = inspect.signature(function).return_annotation
    shown = result if isinstance(result, str) else typed(result).replace("str | Path | Run", "Path")
    listed = ",\n    ".join(lines)
    return f"def {name}(\n    {listed},\n) -> {shown}: ..."


def stub():
    """Return groundset/__init__.pyi: what stands there before the mark, and all functions."""
    methods = [
        declared(name, of_run=True) for name in api.FUNCTIONS if hasattr(groundset.Run, name)
    ]
    inside = "\n".join(methods).replace("\n", "\n    ")
    functions = "\n".join(declared(name, of_run=False) for name in api.FUNCTIONS)
    return f"{STUB.read_text('utf-8').partition(MADE)[0]}{MADE}    {inside}\n\n{functions}\n"


def test_types_of_functions_are_up_to_date():
    text = STUB.read_text("utf-8")
    assert text == stub()
    assert [name for name in groundset.__all__ if not re.search(rf"\b{name}\b", text)] == []


def calls_in(text):
    """Yield the arguments of each call of `groundset` in ``sh`` and ``console`` blocks."""
    for kind, block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").split("\n"):
            if kind != "sh" and not line.startswith("$ "):
                continue
            lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            calls = [[]]
            for word in lexer:
                if set(word) <= set("();<>|&"):
                    calls.append([])
                else:
                    calls[-1].append(word)
            yield from (words[1:] for words in calls if words[:1] == ["groundset"])


def parse(words):
    """Parse arguments with the real parsers, which raise on unknown ones."""
    command = cli.build_app()
    name = "groundset"
    parent = None
    while hasattr(command, "commands"):
        parent = command.make_context(name, words, parent=parent)
        name, command, words = command.resolve_command(
            parent, [*parent._protected_args, *parent.args]
        )
    command.make_context(name, words, parent=parent)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_commands_and_options_in_documentation_exist(file):
    text = file.read_text("utf-8")
    for words in calls_in(text):
        if "--help" not in words:
            try:
                parse(words)
            except typer.TyperException as error:
                pytest.fail(f"{file.name}: groundset {shlex.join(words)}: {error.format_message()}")
    known = {"--help", "--version", "--install-completion", *FLAGS}
    for span in SPAN.findall(FENCE.sub("", text)):
        words = span.split()
        if words[0] == "groundset" and len(words) > 1 and not words[1].startswith("-"):
            assert any(f"{name} ".startswith(f"{words[1]} ") for name in cli.COMMANDS), (
                f"{file.name}: {span}"
            )
        if words[0] == "groundset" or words[0].startswith("--"):
            for word in words:
                assert not word.startswith("--") or re.split(r"[=,]", word)[0] in known, (
                    f"{file.name}: {span}"
                )


def test_links_lead_to_files_and_llms_txt_names_every_page():
    links = {
        file: {(file.parent / name).resolve() for name in LINK.findall(file.read_text("utf-8"))}
        for file in PAGES
    }
    assert [
        (file, link) for file, found in links.items() for link in found if not link.exists()
    ] == []
    for index in ("llms.txt", "README.md"):
        assert {*ROOT.glob("docs/*.md")} <= links[ROOT / index], index


def flags():
    from groundset.options import option_name

    for target, _ in cli.COMMANDS.values():
        options = cli.options_of(resolve_name(target))
        for name in options.model_fields:
            flag = option_name(options, name)
            yield from (flag, f"--no-{flag[2:]}")


FLAGS = frozenset(flags())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    STUB.write_text(stub(), "utf-8")
