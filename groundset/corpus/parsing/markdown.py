"""Find title and headings of Markdown with a real parser, which ignores ``#`` in code blocks."""

import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundset.corpus.parsing import LOWERED, RAISED, Parsed
from groundset.programs.types import Heading

_FRONT_MATTER = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n(?!\s*\n)(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_KEY = re.compile(r"[a-z][\w.-]*|(?i:title|date|author)")  # "Note: text" between two rules is text
_TAGS = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
# Raised and lowered text, but for that in code.
_SCRIPT = re.compile(
    r"^```.*?^```|`[^`\n]*`|<(su[pb])>([^<>\n]{1,40})</\1>", re.MULTILINE | re.DOTALL
)
_PARSER = MarkdownIt("commonmark").enable("table")
_SHOWN = {"text", "text_special", "code_inline", "softbreak", "hardbreak"}
_MAX_HEADING = 1_000  # characters; longer ones are paragraphs above a line of dashes


def parse_markdown(text: str) -> Parsed:
    """Parse Markdown into its text without front matter and empty HTML, title and headings."""
    title, text = _without_front_matter(text)
    text = _SCRIPT.sub(_scripted, text)
    bare = _without_empty_html(text, _outline(text, {}))
    links: dict[str, Any] = {}
    headings = _headings(bare, _outline(bare, links), links)
    return Parsed(bare, title or heading_title(bare, headings), headings)


def script_of(text: str, before: str, *, is_sup: bool) -> str:
    """Return raised or lowered text after another as one that does not join a number; empty for
    ordinals and words.
    """
    shown = text.translate(RAISED if is_sup else LOWERED)
    if re.fullmatch("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉₊₋]*", shown):
        return shown
    is_power = before[-1:].isdigit() and re.fullmatch("[b-zA-Z]", text) and text not in "dehos"
    return (
        f"{'^' if is_sup else '_'}({text.strip('()')})"
        if is_power or re.match(r"[\d(+−-]", text)
        else ""
    )


def _scripted(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 1) : found.start()]
    return script_of(found[2] or "", before, is_sup=found[1] == "sup") or found[2] or found[0]


def heading_title(text: str, headings: Sequence[Heading]) -> str | None:
    """Return the heading that is the document's title: the first of level 1, or one that opens the
    text.
    """
    opening = len(text) - len(text.lstrip())
    return next(
        (heading.text for heading in headings if heading.level == 1 or heading.start <= opening),
        None,
    )


def table_of(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells, the shorter ones filled up, as a table; the first row is its header."""
    width = max(map(len, rows))
    cells = (
        [cell.replace("|", "\\|") for cell in [*row, *[""] * (width - len(row))]] for row in rows
    )
    head, *rest = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([head, f"|{' --- |' * width}", *rest])


def line_starts(text: str) -> list[int]:
    """Return the offset of each line of ``text``."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _without_front_matter(text: str) -> tuple[str | None, str]:
    """Return the title in the front matter and the rest of a text; a rule at its start is not front
    matter.
    """
    front = _FRONT_MATTER.match(text)
    if not front:
        return None, text
    try:
        fields = yaml.safe_load(front[2]) if front[1] == "---" else tomllib.loads(front[2])
    except (yaml.YAMLError, ValueError):
        fields = {re.split("[:=]", front[2])[0].strip(): None}
    if not isinstance(fields, dict) or not any(_KEY.fullmatch(str(key)) for key in fields):
        return None, text
    title = fields.get("title")
    return (" ".join(title.split()) or None if isinstance(title, str) else None), text[
        front.end() :
    ].lstrip("\n")


class _Outline(list[Token]):
    """Keeps only the tokens of headings and HTML blocks; others take a kilobyte per list item or
    table cell.
    """

    def append(self, token: Token) -> None:
        if token.type in {"heading_open", "html_block"} or (
            self and self[-1].type == "heading_open"
        ):
            super().append(token)


def _outline(text: str, links: dict[str, Any]) -> list[Token]:
    """Parse the blocks of a text, and add its link definitions to ``links``."""
    tokens = _Outline()
    _PARSER.block.parse(text, _PARSER, links, tokens)
    return tokens


def _headings(text: str, tokens: Sequence[Token], links: dict[str, Any]) -> list[Heading]:
    starts = line_starts(text)
    found = []
    for token, inline in pairwise(tokens):
        # Level 0 only: a heading inside a list or a quotation does not divide the document.
        if (
            token.type == "heading_open"
            and token.level == 0
            and token.map
            and len(inline.content) <= _MAX_HEADING
        ):
            # Inline parsing can be slow, so only headings are parsed further.
            [inline_token] = _PARSER.parseInline(inline.content, links)
            shown = (
                each.content or " " for each in inline_token.children or () if each.type in _SHOWN
            )
            if title := " ".join("".join(shown).split()):
                found.append(
                    Heading(level=int(token.tag[1]), text=title, start=starts[token.map[0]])
                )
    return found


def _without_empty_html(text: str, tokens: Sequence[Token]) -> str:
    """Drop HTML blocks without text: comments, anchors, pictures."""
    lines = text.split("\n")
    kept: list[str] = []
    done = 0
    for token in tokens:
        if token.type == "html_block" and token.map and not _TAGS.sub("", token.content).strip():
            kept += lines[done : token.map[0]]
            done = token.map[1]
    return "\n".join([*kept, *lines[done:]]).strip("\n")
