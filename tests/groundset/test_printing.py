"""Untrusted text is printed on one line without control characters."""

import ast
import io
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.console import Console

from groundset.printing import print_above, printable, say, say_lines, say_table

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
ORDINARY = (
    "Größe 東京 наука עברית العربية नमस्ते 👩‍👩‍👧 می‌خواهم co\u00adop e\u0301 [x] :cat: \\n \ue000"
)
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0041]"
)
PRINTERS = ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write")


@pytest.mark.parametrize("text", HOSTILE)
def test_control_characters_are_escaped_reversibly(text):
    shown = printable(text)
    assert not STEERING.search(shown)
    assert "\n" not in shown
    assert json.loads(f'"{shown}"' if "\\click" not in text else json.dumps(text)) == text
    assert printable(shown) == shown


def test_ordinary_text_is_unchanged():
    assert printable(ORDINARY) == ORDINARY
    assert printable("a\r\nb\tc\x1b[2J\rd", lines=True) == "a\nb\tc\\u001b[2J\\rd"


def test_every_unicode_character_is_printable():
    controls = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    for character in map(chr, range(sys.maxunicode + 1)):
        kind = unicodedata.category(character)
        shown = printable(character)
        assert shown.encode()
        if kind in ("Cc", "Zl", "Zp", "Cs") or unicodedata.bidirectional(character) in controls:
            assert shown != character
        elif kind not in ("Cf", "Cn"):
            assert shown == character


def test_hostile_texts_are_printed_on_one_line_each(capsys):
    stream = io.StringIO()
    for text in HOSTILE:
        say(text)
        say_lines(text.replace("\n", " "), err=True)
        print_above(Console(file=stream, width=60), text)
    printed = capsys.readouterr()
    for output in (printed.out, printed.err, stream.getvalue()):
        assert output.count("\n") == len(HOSTILE)
        assert not STEERING.search(output)
        assert "nine[bold red]:cat:[/bold red]\n" in output


def test_only_the_printing_module_prints():
    """Only ``groundset.printing`` escapes values, so no other module may print."""
    raw = []
    for path in [
        path
        for package in ("groundset", "optimizers", "programs")
        for path in (ROOT / package).rglob("*.py")
    ]:
        for node in ast.walk(ast.parse(path.read_bytes())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in PRINTERS and path.name not in (
                "printing.py",
                "progress.py",
            ):  # the latter escapes its line
                raw.append(f"{path.name}:{node.lineno}")
    assert raw == []


def test_tables_are_blocks_where_they_do_not_fit(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = [["dense", "1.00 (0.34 to 1.00)"], ["bm25\x1b", "-"]]
    say_table(["retriever", "recall"], rows)
    assert capsys.readouterr().out == (
        "retriever   recall\ndense       1.00 (0.34 to 1.00)\nbm25\\u001b  -\n"
    )
    monkeypatch.setenv("COLUMNS", "20")
    say_table(["retriever", "recall"], rows)
    assert capsys.readouterr().out == (
        "retriever  dense\nrecall     1.00 (0.34 to 1.00)\n\nretriever  bm25\\u001b\nrecall     -\n"
    )
