"""What groundset prints: no file name, title or text of a model can steer the terminal or fake a line of its own."""

import json
import re

import typer
from rich.console import Console

# Control characters, what turns the direction of writing, what has no width, tags and halves of characters. The two
# joiners and the soft hyphen stay: words of several scripts, and emoji, are spelt with them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSEEN_IN_LINES = re.compile(f"(?![\n\t]){_UNSEEN.pattern}")


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text whose unseen characters are spelt as JSON spells them, such as ``\\u001b`` and ``\\n``.

    JSON so stays the same JSON. With ``lines``, line ends and tabs stay: for a block of text that stands by itself.
    """
    if lines:
        return _UNSEEN_IN_LINES.sub(_spelt, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_spelt, text)


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line on standard output, or on standard error with ``err``."""
    typer.echo(printable(line), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print a block of text, whose line ends are its own."""
    typer.echo(printable(text, lines=True), err=err)


def print_above(console: Console, line: str) -> None:
    """Print one line above whatever a console shows live."""
    console.print(printable(line), markup=False, emoji=False, highlight=False, soft_wrap=True)


def _spelt(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
