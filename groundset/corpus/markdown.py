"""Markdown: headings by a real parser, so that a ``#`` in a code block is not one."""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundset.corpus.parsed import Parsed
from programs.types import Heading

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_PARSER = MarkdownIt("commonmark").enable("table")


def parse_markdown(text: str) -> Parsed:
    """Parse Markdown into its text without front matter and empty HTML, its title and its headings."""
    title = None
    front = _FRONT_MATTER.match(text)
    if front:
        named = _FRONT_TITLE.search(front.group(1))
        title = named.group(1).strip().strip("\"'") if named else None
        text = text[front.end() :].lstrip("\n")
    tokens = _PARSER.parse(text)
    bare = _without_empty_html(text, tokens)
    if bare != text:
        text, tokens = bare, _PARSER.parse(bare)
    headings = _headings(text, tokens)
    return Parsed(text, title or heading_title(text, headings), headings)


def heading_title(text: str, headings: Sequence[Heading]) -> str | None:
    """Return the heading that is the document's title: the first of level 1, or one that opens the text."""
    for heading in headings:
        if heading.level == 1 or not text[: heading.start].strip():
            return heading.text
    return None


def _headings(text: str, tokens: Sequence[Token]) -> list[Heading]:
    starts = line_starts(text)
    found = []
    for token, inline in pairwise(tokens):
        # Level 0 only: a heading inside a list or a quotation does not divide the document.
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = " ".join(_plain(inline.children or []).split())
            if title:
                found.append(Heading(level=int(token.tag[1]), text=title, start=starts[token.map[0]]))
    return found


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line of ``text`` begins."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _plain(tokens: Sequence[Token]) -> str:
    breaks = {"softbreak", "hardbreak"}
    return "".join(
        " " if token.type in breaks else token.content
        for token in tokens
        if token.type in {"text", "text_special", "code_inline"} | breaks
    )


def _without_empty_html(text: str, tokens: Sequence[Token]) -> str:
    """Drop HTML blocks that show nothing: comments, anchors, pictures."""
    lines = text.split("\n")
    for token in reversed(tokens):
        if token.type == "html_block" and token.map and not _TAG.sub("", token.content).strip():
            del lines[token.map[0] : token.map[1]]
    return "\n".join(lines).strip("\n")
