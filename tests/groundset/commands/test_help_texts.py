"""The help quoted in the documentation is up to date.

Run this file as a script to update it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
QUOTE = re.compile(r"```console\n\$ groundset (?P<arguments>[a-z ]*--help)\n(?P<text>.*?)```", re.DOTALL)


def help_text(arguments: str) -> str:
    script = "import sys; from groundset.commands import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments.split()],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "82"},
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_quoted_help(page):
    for quote in QUOTE.finditer(page.read_text(encoding="utf-8")):
        hint = f"run {Path(__file__).relative_to(ROOT)} to renew the documentation"
        assert quote["text"] == help_text(quote["arguments"]), hint


def test_every_command_is_quoted():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"^  ([a-z]+)  ", help_text("--help"), re.MULTILINE)
    assert {"generate", "compile", "labels"} <= set(commands)
    for command in commands:
        assert f"$ groundset {command} --help" in text


def renew() -> None:
    """Update the quoted help."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(
            QUOTE.sub(
                lambda quote: f"```console\n$ groundset {quote['arguments']}\n{help_text(quote['arguments'])}```",
                text,
            ),
            encoding="utf-8",
        )


if __name__ == "__main__":
    renew()
