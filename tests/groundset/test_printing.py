"""Untrusted text is printed on one line without control characters."""

import ast
import io
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.console import Console

from groundset.commands.output.tables import print_table
from groundset.models.download import ConsoleProgress
from groundset.printing import print_above, printable, say
from groundset.progress import Progress

ROOT = Path(__file__).parents[2]
FAKED = "Kept 20 of 20 samples."
# Terminal control sequences, line breaks and bidirectional controls.
HOSTILE = (
    f"one\n{FAKED}",
    f"two\r{FAKED}",
    "three\x1b[2J\x1b[1;1H",
    "four\x1b]0;owned\x07",
    "five\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "six\x9b2J\x85\x7f\x08\x08",
    f"seven\u2028{FAKED}\u2029",
    "eight\u202efdp.\u2066exe\u2069\u200f",
    "nine[bold red]:cat:[/bold red]",
    "ten\u200b\ufeff\U000e0041",
)
ORDINARY = "Größe 東京 наука עברית العربية नमस्ते 👩‍👩‍👧 می‌خواهم co\u00adop e\u0301 [x] :cat: \\n \ue000"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0041]")
# Sequences that Rich writes to a terminal: colours, cursor and redrawn lines.
DRAWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|1A|2K)|\r")


@pytest.mark.parametrize("text", HOSTILE)
def test_control_characters_are_escaped_reversibly(text):
    shown = printable(text)
    assert not STEERING.search(shown)
    assert "\n" not in shown
    assert json.loads(f'"{shown}"' if "\\click" not in text else json.dumps(text)) == text
    assert printable(shown) == shown


def test_ordinary_text_is_unchanged():
    assert printable(ORDINARY) == ORDINARY


def test_every_unicode_character_is_printable():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        kind = unicodedata.category(character)
        shown = printable(character)
        assert shown.encode()
        if kind in ("Cc", "Zl", "Zp", "Cs") or unicodedata.bidirectional(character) in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        ):  # fmt: skip
            assert shown != character
        elif kind not in ("Cf", "Cn"):
            assert shown == character


def test_blocks_keep_their_line_breaks():
    assert printable("a\r\nb\tc\x1b[2J\rd", lines=True) == "a\nb\tc\\u001b[2J\\rd"


def test_escaped_json_is_equivalent():
    row = {"question": "".join(HOSTILE)}
    shown = printable(json.dumps(row, ensure_ascii=False))
    assert json.loads(shown) == row
    assert not STEERING.search(shown)


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_and_notes_print_one_line_each(terminal):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=60)
    for text in HOSTILE:
        print_above(console, text)
        Progress(console=console).reading(text)
        ConsoleProgress(console).note(text)
    lines = stream.getvalue().split("\n")
    assert len(lines) == 3 * len(HOSTILE) + 1
    assert not STEERING.search(DRAWN.sub("", stream.getvalue()))
    assert "nine[bold red]:cat:[/bold red]" in lines


def test_say_and_tables_print_one_line_each(capsys):
    for text in HOSTILE:
        say(text)
        say(text, err=True)
    print_table(("name", "size"), [(text, "1") for text in HOSTILE])
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 2 * len(HOSTILE) + 1
    assert printed.err.count("\n") == len(HOSTILE)
    assert not STEERING.search(printed.out + printed.err)


def test_only_the_printing_module_prints():
    """Only ``groundset.printing`` escapes values, so no other module may print."""
    raw = []
    packages = ("groundset", "optimizers", "programs")
    for path in [path for package in packages for path in (ROOT / package).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_bytes())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            own = path == ROOT / "groundset" / "printing.py"
            if called in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write") and not own:
                raw.append(f"{path.name}:{node.lineno}")
    assert raw == []


CHUNK = "import sys; from groundset.commands import main; main(sys.argv[1:])"
GENERATE = """import functools, sys
from scripted_run import CRITICS, Encoder, ScriptedEngine, lm_opener, scripted_recipe
from groundset.commands import main
from groundset.engine import making
from groundset.engine.models import Openers
openers = Openers(lm_opener(ScriptedEngine()), Encoder, lambda spec, **parts: CRITICS)
making.run_generation = functools.partial(making.run_generation, openers=openers, recipe=scripted_recipe())
main(sys.argv[1:])
"""


def printed_by(code: str, *arguments: object, terminal: bool) -> str:
    """Return the output of a process on a terminal or in a pipe."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    places = [ROOT, ROOT / "tests" / "groundset" / "engine"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "TERM": "xterm", "COLUMNS": "4000"}
    if not terminal:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode()
    parent_end, child_end = pty.openpty()
    with subprocess.Popen(command, env=environment, stdin=child_end, stdout=child_end, stderr=child_end) as process:
        os.close(child_end)
        pieces = []
        while True:
            try:
                piece = os.read(parent_end, 65536)
            except OSError:  # the process has closed the terminal
                break
            if not piece:
                break
            pieces.append(piece)
        process.wait()
    os.close(parent_end)
    return DRAWN.sub("", b"".join(pieces).decode())


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Documents and other files with hostile names and titles."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, name in enumerate(HOSTILE):
        name = name.replace("/", "_")
        (folder / f"{name}.xyz").write_text("no document")
        words = " ".join(f"word{number}{place}" for place in range(60))
        (folder / f"{name}.md").write_text(f"# Title {HOSTILE[number]}\n\n{words}.\n")
    return folder


def check(printed: str) -> None:
    assert not STEERING.search(printed)
    assert not [line for line in printed.split("\n") if line.strip().startswith(FAKED)]


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_commands_escape_hostile_names(docs, tmp_path, terminal):
    out = tmp_path / "run\x1b[2J\u202e"
    chunked = printed_by(CHUNK, "chunk", docs, "--out", tmp_path / "c\n.jsonl", "--min-length", 50, terminal=terminal)
    assert r"Skipped three\u001b[2J\u001b[1;1H.xyz: unsupported type .xyz." in chunked
    assert r"Skipped one\nKept 20 of 20 samples..xyz: unsupported type .xyz." in chunked
    assert r"c\n.jsonl" in chunked
    options = ("--size", 3, "--chunk-size", 300, "--min-length", 50, "--no-track", "-v")
    made = printed_by(GENERATE, "generate", docs, "--out", out, *options, terminal=terminal)
    assert r"Reading eight\u202efdp.\u2066exe\u2069\u200f.md" in made
    assert "Kept 3 of 3 samples" in made
    assert "groundset review" in made
    shown = printed_by(CHUNK, "show", out, terminal=terminal)
    assert "Shown: 3 of 3 samples." in shown
    rows = printed_by(CHUNK, "show", out, "--json", terminal=terminal)
    # A slow machine prints "Loading groundset." first.
    assert [row["id"] for row in json.loads(rows[rows.index("{") :])["samples"]]
    missing = printed_by(CHUNK, "show", tmp_path / HOSTILE[0], terminal=terminal)
    assert "does not exist" in missing
    for printed in (chunked, made, shown, rows, missing):
        check(printed)
