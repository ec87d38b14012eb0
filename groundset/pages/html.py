"""HTML pages that load nothing and run no text, and the marks of evidence and answer in passages.

Everything is escaped, invisible characters are spelt out.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from groundset.files import encodable
from groundset.printing import counted, printable
from groundset.programs.text import MAX_QUESTION, MAX_READ, one_line
from groundset.retrieval.gold import evidence_in, find_words

_FOLDER = Path(__file__).parent / "templates"


def render(template: str, **values: Any) -> str:
    """Render a template as HTML."""
    return encodable(_environment().get_template(template).render(values))


@cache
def asset(name: str) -> Markup:
    """Return a style or script of ours, to be set into a page as it is."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def policy(style: str, script: str | None = None) -> str:
    """Return the content security policy of a page whose only style and script are ours."""
    scripts = f"; script-src {_digest(script)}" if script else ""
    return (
        f"default-src 'none'; img-src data:; style-src {_digest(style)};"
        f" base-uri 'none'; form-action 'self'{scripts}"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=asset, policy=policy, marked=marked, evidence_in=evidence_in)
    environment.filters.update(
        percent=lambda share: f"{100 * share:.0f} %", counted=counted, one_line=one_line
    )
    return environment


def _digest(name: str) -> str:
    digest = hashlib.sha256(asset(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _visible(value: Any) -> Any:
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value, lines=True) if is_text else value


class Piece(NamedTuple):
    """A part of a passage; ``css`` says whether it is evidence, answer, both or neither."""

    text: str
    css: str = ""


def marked(text: str, evidence: Sequence[str], answer: str) -> list[Piece]:
    """Split a passage into pieces by what is evidence and what is the answer, whatever its case and
    markup.

    The answer is marked within the evidence, or anywhere if no evidence contains it.
    """
    read, answer = text[:MAX_READ], answer[:MAX_QUESTION]  # time is their product
    supports = [span for words in evidence if (span := find_words(read, words[:MAX_QUESTION]))]
    answers = [span for support in supports if (span := find_words(read, answer, *support))]
    if not answers and (span := find_words(read, answer)):
        answers = [span]
    pieces = []
    for start, end in pairwise(sorted({0, len(text), *chain(*supports, *answers)})):
        css = ["evidence"] if _covers(supports, start) else []
        css += ["answer"] if _covers(answers, start) else []
        pieces.append(Piece(text[start:end], " ".join(css)))
    return pieces


def _covers(spans: Iterable[tuple[int, int]], place: int) -> bool:
    return any(start <= place < end for start, end in spans)
