"""docs/cli.md is made from the options, and every command and option that documentation mentions
exists.

Run this file as a script to renew docs/cli.md.
"""

import io
import os
import re
import shlex
from contextlib import redirect_stdout, suppress
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer

from groundset import cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
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
