"""Find title and headings of Markdown with a real parser, which ignores ``#`` in code blocks."""

import re
import tomllib
from collections.abc import Sequence
from html import unescape
from itertools import pairwise
from textwrap import dedent
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundset.corpus.parsing import LOWERED, RAISED, Parsed
from groundset.programs.text import one_line
from groundset.programs.types import Heading

_FRONT_MATTER = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n(?!\s*\n)(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_KEY = re.compile(r"[a-z][\w.-]*|(?i:title|date|author)")  # "Note: text" between two rules is text
_TAGS = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_CODE_SPAN = r"(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)"
# What no reader sees, of a length that keeps a search short: comments of HTML, MDX, Liquid, Hugo
# and Obsidian, links that are comments, ids of headings.
_COMMENT = (
    r"(?><!--.{0,9999}?-->|\{/\*.{0,9999}?\*/\}|\{\{[%<]?-?[ ]*/\*.{0,9999}?\*/[ ]*-?[%>]?\}\}|"
    r"\{%-?\s*comment\b.{0,9999}?endcomment\s*-?%\}|(?<!\S)%%(?!%)[^%\n]+%%(?!\S)|"
    r"^%%[ \t]*\n.{0,9999}?^%%[ \t]*$|\{#[\w:.-]+\}(?=[ \t]*$)|"
    r"^ {0,3}\[[^\]\n]*\]:[ \t]*(?:\#|<\#?>)[ \t]+(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$)"
)
# Of prose; raised and lowered text stays, written as such.
_UNSHOWN = re.compile(
    rf"{_CODE_SPAN}|^(?:[ \t]*{_COMMENT})+[ \t]*(?:\n|\Z)|^(?P<indent>[ \t]*){_COMMENT}[ \t]*|"
    rf"[ \t]*{_COMMENT}|<(?P<script>su[pb])>(?P<raised>[^<>\n]{{1,40}})</(?P=script)>",
    re.MULTILINE | re.DOTALL,
)
_EXPRESSION = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_ATTRIBUTE = rf"(?P<%s>[\w:-]+)(?:=(?P<%s>\"[^\"]*\"|'[^']*'|{_EXPRESSION}))?"
_ATTRIBUTES = re.compile(_ATTRIBUTE % ("name", "value"))
_TAG = (
    rf"<(?:/?[A-Z][\w.]*|img)(?:\s+(?:{re.sub(r'[?]P<%s>', '?:', _ATTRIBUTE)}|{_EXPRESSION}))*"
    r"\s*/?>|</?>"
)
_MDX = re.compile(
    rf"(?P<code>^[ \t]*(?P<fence>`{{3,}}|~{{3,}})[^\n]*\n.*?(?:^[ \t]*(?P=fence)|\Z)|{_CODE_SPAN})|"
    r"^(?:import\s+(?:[\w$*{][^'\"`;]{0,2000}?\s+from\s+)?(['\"])[^'\"\n]+\4;?|"
    r"export\s+(?:default|const|let|var|function|async|class|\{|\*).*?(?=\n\s*\n[^\s)\]}]|\Z))"
    rf"[ \t]*$\n?|^[ \t]*(?P<line>(?:(?:{_TAG})[ \t]*)+)(?:\n|\Z)|(?P<tag>{_TAG})",
    re.MULTILINE | re.DOTALL,
)
# Attributes of components that are shown, and those of fields of an interface.
_SHOWN_ATTRIBUTES = [
    *("title", "label", "caption", "alt", "heading", "subtitle"),
    *("summary", "description", "question", "tip"),
]
_FIELD_NAMES = ("query", "path", "body", "header", "name")
_FIELD_ATTRIBUTES = [*_FIELD_NAMES, "type", "default", "required", "deprecated"]
_LITERAL = re.compile(r"\{\s*(?:([\"'`])[^$]*\1|[\d.]+|true)\s*\}", re.DOTALL)
_PARSER = MarkdownIt("commonmark").enable("table")
_SHOWN = {"text", "text_special", "code_inline", "softbreak", "hardbreak"}
_CODE = {"fence", "code_block"}
_MAX_HEADING = 1_000  # characters; longer ones are paragraphs above a line of dashes


def parse_markdown(text: str, suffix: str = "") -> Parsed:
    """Parse Markdown into what readers see of it, without front matter, comments and code of
    components, its title and its headings.
    """
    title, text = _without_front_matter(text)
    text = _without_components(text, is_mdx=suffix == ".mdx")
    starts = [*line_starts(text), len(text) + 1]
    parts, done = [], 0
    for token in _outline(text, {}):
        if token.type in _CODE and token.map:
            start, end = (starts[line] for line in token.map)
            parts += [_UNSHOWN.sub(_as_shown, text[done:start]), text[start:end]]
            done = end
    parsed = parse_converted("".join([*parts, _UNSHOWN.sub(_as_shown, text[done:])]))
    return parsed._replace(title=title or parsed.title)


def parse_converted(text: str) -> Parsed:
    """Parse Markdown that was made of another format."""
    bare = _without_empty_html(text)
    links: dict[str, Any] = {}
    headings = _headings(bare, _outline(bare, links), links)
    return Parsed(bare, heading_title(headings), headings)


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


def _as_shown(found: re.Match[str]) -> str:
    if found["ticks"]:
        return found[0]
    before = found.string[max(0, found.start() - 1) : found.start()]
    raised = found["raised"] or ""
    shown = script_of(raised, before, is_sup=found["script"] == "sup") or raised
    return shown or found["indent"] or ""


def _without_components(text: str, *, is_mdx: bool) -> str:
    """Replace the components of MDX by what they show; what is in them stands where the text
    around them does.
    """
    found = [each for each in _MDX.finditer(text) if not each["code"]]
    if not is_mdx and not any(re.match("</[A-Z]", each["line"] or "") for each in found):
        return text
    parts: list[str] = []
    done = 0
    for each in found:
        before = text[done : each.start()]
        parts.append(before if each["tag"] else dedent(before))
        shown = "\n\n".join(filter(None, map(_shown_of, re.findall(_TAG, each[0]))))
        if each["line"] and shown:
            parts.append(f"\n{shown}\n\n")
        elif shown:
            is_first = not before.rpartition("\n")[2].strip()
            apart = "\n\n" if is_first else " " * (each[0][-2] != "/")
            parts.append(f"{shown}{apart}")
        done = each.end()
    return "".join([*parts, dedent(text[done:])])


def _shown_of(tag: str) -> str:
    """Return what readers see of the attributes of a component."""
    values: dict[str, str] = {}
    for found in _ATTRIBUTES.finditer(re.sub(r"^</?[\w.]*", "", tag)):
        value = found["value"] or found["name"]
        is_code = value[0] == "{" and not _LITERAL.fullmatch(value)
        if (text := value.strip("{}\"'` \n")) not in ("", "false") and not is_code:
            values[found["name"].lower()] = one_line(unescape(text))
    lines = [values[name] for name in _SHOWN_ATTRIBUTES if name in values]
    if values.keys() & set(_FIELD_NAMES) and not tag.startswith("<Icon"):
        named = [name for name in _FIELD_ATTRIBUTES if name in values]
        shown = [
            name if values[name] in (name, "true") else f"{name}: {values[name]}" for name in named
        ]
        lines.append(values["name"] if named == ["name"] else ", ".join(shown))
    return "\n\n".join(lines)


def heading_title(headings: Sequence[Heading]) -> str | None:
    """Return the heading that is the document's title: the first of level 1, else one that opens
    the text.
    """
    first = [heading for heading in headings if heading.level == 1]
    first += [heading for heading in headings if heading.start == 0]
    return first[0].text if first else None


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
    title = one_line(title) if isinstance(title, str) else ""
    return title or None, text[front.end() :].lstrip("\n")


class _Outline(list[Token]):
    """Keeps only the tokens of headings, code and HTML blocks; others take a kilobyte per list item
    or table cell.
    """

    def append(self, token: Token) -> None:
        is_title = self and self[-1].type == "heading_open"
        if is_title or token.type in {"heading_open", "html_block", *_CODE}:
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
        is_heading = token.type == "heading_open" and token.level == 0
        if not (is_heading and token.map) or len(inline.content) > _MAX_HEADING:
            continue
        # Inline parsing can be slow, so only headings are parsed further.
        [parsed] = _PARSER.parseInline(inline.content, links)
        shown = (each.content or " " for each in parsed.children or () if each.type in _SHOWN)
        if title := one_line("".join(shown)):
            found.append(Heading(level=int(token.tag[1]), text=title, start=starts[token.map[0]]))
    return found


def _without_empty_html(text: str) -> str:
    """Drop HTML blocks without text: comments, anchors, pictures."""
    lines = text.split("\n")
    kept: list[str] = []
    done = 0
    for token in _outline(text, {}):
        if token.type == "html_block" and token.map and not _TAGS.sub("", token.content).strip():
            kept += lines[done : token.map[0]]
            done = token.map[1]
    return "\n".join([*kept, *lines[done:]]).strip("\n")
