"""Find title and headings of Markdown with a real parser, so that ``#`` in code blocks is ignored."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundset.corpus.parsing.text import Parsed
from programs.types import Heading

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_NOT_SPACE = re.compile(r"\S")
_PARSER = MarkdownIt("commonmark").enable("table")
# Longer ones are paragraphs above a line of dashes.
_MAX_HEADING = 1_000


def parse_markdown(text: str) -> Parsed:
    """Parse Markdown into its text without front matter and empty HTML, its title and its headings."""
    title = None
    front = _FRONT_MATTER.match(text)
    if front:
        named = _FRONT_TITLE.search(front.group(1))
        title = named.group(1).strip().strip("\"'") if named else None
        text = text[front.end() :].lstrip("\n")
    bare = _without_empty_html(text, _outline(text, {}))
    links: dict[str, Any] = {}
    headings = _headings(bare, _outline(bare, links), links)
    return Parsed(bare, title or heading_title(bare, headings), headings)


def heading_title(text: str, headings: Sequence[Heading]) -> str | None:
    """Return the heading that is the document's title: the first of level 1, or one that opens the text."""
    opening = len(text) - len(text.lstrip())
    for heading in headings:
        if heading.level == 1 or heading.start <= opening:
            return heading.text
    return None


class _Outline(list[Token]):
    """Keep only the tokens of headings and HTML blocks; others take a kilobyte per list item or table cell."""

    def append(self, token: Token) -> None:
        if token.type in {"heading_open", "html_block"} or (self and self[-1].type == "heading_open"):
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
        if token.type == "heading_open" and token.level == 0 and token.map and len(inline.content) <= _MAX_HEADING:
            # Inline parsing can be slow, so only headings are parsed further.
            [inline_token] = _PARSER.parseInline(inline.content, links)
            title = " ".join(_plain(inline_token.children or []).split())
            if title:
                found.append(Heading(level=int(token.tag[1]), text=title, start=starts[token.map[0]]))
    return found


def line_starts(text: str) -> list[int]:
    """Return the offset of each line of ``text``."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _plain(tokens: Sequence[Token]) -> str:
    breaks = {"softbreak", "hardbreak"}
    return "".join(
        " " if token.type in breaks else token.content
        for token in tokens
        if token.type in {"text", "text_special", "code_inline"} | breaks
    )


def _without_empty_html(text: str, tokens: Sequence[Token]) -> str:
    """Drop HTML blocks without text: comments, anchors, pictures."""
    lines = text.split("\n")
    kept: list[str] = []
    done = 0
    for token in tokens:
        if token.type == "html_block" and token.map and _has_no_text(token.content):
            kept += lines[done : token.map[0]]
            done = token.map[1]
    return "\n".join([*kept, *lines[done:]]).strip("\n")


def _has_no_text(html: str) -> bool:
    """Return whether HTML consists of tags, comments and white space."""
    position = 0
    comments = True  # whether a comment may still end
    while True:
        match = _NOT_SPACE.search(html, position)
        if match is None:
            return True
        position = match.start()
        end = html.find("-->", position + 4) if comments and html.startswith("<!--", position) else -1
        if end >= 0:
            position = end + 3
            continue
        comments = comments and not html.startswith("<!--", position)
        end = html.find(">", position) if html[position] == "<" else -1
        if end < 0:
            return False
        position = end + 1
