"""HTML pages that load nothing and run no text, and the marks of evidence and answer in passages.

Everything is escaped, invisible characters are spelt out.
"""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from groundset.files import encodable
from groundset.printing import counted, printable
from groundset.programs.types import Sample

_FOLDER = Path(__file__).parent / "templates"
_Span = tuple[int, int]
_MAX_TEXT, _MAX_WORDS = (
    50_000,
    5_000,
)  # characters that are read of a passage and of words; time is their product
_AROUND = 200  # characters of an excerpt on both sides of what is marked
_WORD, _BETWEEN, _BEFORE, _BEHIND = re.compile(r"[^\W_]+"), r"[\W_]+", r"(?<![^\W_])", r"(?![^\W_])"


def render(template: str, **values: Any) -> str:
    """Render a template as HTML."""
    return encodable(_environment().get_template(template).render(values))


@cache
def asset(name: str) -> Markup:
    """Return a style or script of ours, to be set into a page as it is."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def policy(style: str, script: str | None = None) -> str:
    """Return the content security policy of a page whose only style and script are ours."""
    allowed = (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; base-uri 'none';"
        " form-action 'self'"
    )
    return allowed + (f"; script-src {_digest(script)}" if script else "")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=asset, policy=policy)
    environment.filters.update(percent=lambda share: f"{100 * share:.0f} %", counted=counted)
    return environment


def _digest(name: str) -> str:
    digest = hashlib.sha256(asset(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _visible(value: Any) -> Any:
    return (
        value
        if isinstance(value, Markup) or not isinstance(value, str)
        else printable(value, lines=True)
    )


class Piece(NamedTuple):
    """A part of a passage; ``css`` says whether it is evidence, answer, both or neither."""

    text: str
    css: str = ""


def evidence_of(sample: Sample) -> list[str]:
    """Return the words of the passages that the answer rests on; imported samples may have any
    value there.
    """
    found = sample.metadata.get("evidence")
    return [
        str(part)
        for part in (
            [found] if isinstance(found, str) else found if isinstance(found, list) else []
        )
    ]


def marked(text: str, evidence: Sequence[str], answer: str) -> list[Piece]:
    """Split a passage into pieces by what is evidence and what is the answer, whatever its case and
    markup.

    The answer is marked within the evidence, or anywhere if no evidence contains it.
    """
    whole = (0, len(text))
    resting = [span for words in evidence if (span := _find(text, words, whole))]
    answers = [span for within in resting if (span := _find(text, answer, within))]
    if not answers and (span := _find(text, answer, whole)):
        answers = [span]
    edges = sorted({*whole, *(edge for span in (*resting, *answers) for edge in span)})
    layers = (("evidence", resting), ("answer", answers))
    return [
        Piece(
            text[start:end],
            " ".join(name for name, spans in layers if any(a <= start < b for a, b in spans)),
        )
        for start, end in pairwise(edges)
    ]


def excerpt(pieces: Sequence[Piece]) -> list[Piece]:
    """Cut off what stands far before and behind what is marked, or after the beginning if nothing
    is.
    """
    if not any(piece.css for piece in pieces):
        return [Piece(_head("".join(piece.text for piece in pieces)))]
    shortened = list(pieces)
    if not pieces[0].css:
        shortened[0] = Piece(_tail(pieces[0].text))
    if not pieces[-1].css:
        shortened[-1] = Piece(_head(pieces[-1].text))
    return shortened


def _find(text: str, words: str, within: _Span) -> _Span | None:
    """Return the first span of words in a part of a text; whole words, in scripts with spaces."""
    parts = _WORD.findall(words[:_MAX_WORDS])
    if not parts:
        return None
    before, behind = (
        unicodedata.category(letter) != "Lo" for letter in (parts[0][0], parts[-1][-1])
    )
    pattern = _BEFORE * before + _BETWEEN.join(map(re.escape, parts)) + _BEHIND * behind
    found = re.compile(pattern, re.IGNORECASE).search(text, within[0], min(within[1], _MAX_TEXT))
    return found.span() if found else None


def _head(text: str) -> str:
    """Return the first words of a text; a script without spaces is cut anywhere."""
    cut = text[:_AROUND]
    return text if cut == text else f"{cut.rpartition(' ')[0] or cut} …"


def _tail(text: str) -> str:
    cut = text[-_AROUND:]
    return text if cut == text else f"… {cut.partition(' ')[2] or cut}"
