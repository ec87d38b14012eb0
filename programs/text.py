"""Words, numbers and plain text in any language."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import regex

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = r"[^\W\d_a-zß-ÿ][\w’'-]+"
CAPITALISED = re.compile(rf"\b{NAME}")
CODE = re.compile(r"[{}<>;=\\$_]|\(\)|::|->|\|")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?:\[\d+\])*\s*$")
# Characters of a text that are read; longer texts are truncated. That is twenty pages, ten times a
# large chunk.
MAX_READ = 50_000
MAX_QUESTION = 5_000  # of a question; some patterns take quadratic time
_CACHED_TEXTS = 1_024
# Combining marks and joiners belong to the letter before them; `re` takes them for what stands
# between words. Otherwise letters and digits are those that `re` knows.
_JOINED = r"\p{M}\u200c\u200d"
INSIDE_WORD = rf"[\p{{L}}\p{{N}}_{_JOINED}]"
WORD = regex.compile(rf"[\p{{L}}\p{{N}}_]{INSIDE_WORD}*+")
LETTERS = rf"[\p{{L}}\p{{Nl}}\p{{No}}][\p{{L}}\p{{Nl}}\p{{No}}{_JOINED}]*+"
_TOKEN = regex.compile(rf"\d+(?:[.,:/]\d+)*|{LETTERS}(?:['’-]{LETTERS})*")
# From the first of several spaces, or it takes quadratic time.
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)")
# The text of a link is limited, and its target ends where another one begins, or many brackets take
# quadratic time.
_TARGET = r"[^)\s\]]*(?:\](?!\()[^)\s\]]*)*"
_LINK = (
    rf"!?\[([^\]\n]{{0,500}})\]\({_TARGET}\)"
    r"|(?<![\w\])])\[(?!\d+\])([^\[\]\n]{1,200})\]\[[^\[\]\n]{0,200}\]"
)
_TAGS = (  # of HTML; <name> and the like stand for what a reader has to fill in
    "a|abbr|b|big|br|center|code|del|details|div|em|font|i|img|ins|kbd|li|mark|ol|p|pre|q|s|small|"
    "span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul"
)
_INLINE = r"((?:[^\n]|\n(?!\s*\n)){1,300}?)"  # text within a paragraph


def _emphasis(char: str, times: int) -> re.Pattern[str]:
    """Return the pattern of a text between marks; names such as ``__init__`` are none."""
    mark, no_name = re.escape(char * times), r"(?!\w+__(?!\w))" if char == "_" else ""
    edge = rf"[^\s{re.escape(char)}]"
    return re.compile(
        rf"(?<![\w{char}]){mark}{no_name}(?={edge}){_INLINE}(?<={edge}){mark}(?![\w{char}])"
    )


# What Markdown and reStructuredText mark, in this order; the group that matches is the text of it.
_MARKED = (
    re.compile(
        rf"(?<!`)(?::[a-z][a-z:-]{{1,30}}:)?(`{{1,2}})(?=[^`]){_INLINE}(?<=[^`])\1(?!`)(?:__?(?!\w))?"
    ),
    re.compile(rf"{_LINK}|\[\^?\d+\]|</?(?:{_TAGS})(?:\s[^<>\n]{{0,500}})?/?>"),
    *(_emphasis(char, times) for char in "*_" for times in (3, 2, 1)),
)
# As private characters.
_KEPT_IN_CODE = {ord(mark): 0xE000 + place for place, mark in enumerate("*_[]()<>")}
CODE_BLOCK = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_POSSESSIVE = re.compile(r"['’]s(?= )")


def composed(text: str) -> str:
    """Return a text with each letter and its marks as one character, where there is one."""
    return unicodedata.normalize("NFC", text)


def words_in(text: str) -> list[str]:
    """Return the runs of letters and digits in a text, casefolded."""
    return list(WORD.findall(composed(text).casefold()))


def tokens(text: str) -> list[str]:
    """Return words and numbers in lower case."""
    return _words(text).split()


def one_line(text: object) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(str(text).split())


def text_id(*texts: str) -> str:
    """Return a short id for texts that have none."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest(value: Any) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def has_words(text: str, phrase: str) -> bool:
    """Return whether a text contains the words of a phrase in sequence; "Brock's" counts as
    "Brock".
    """
    return _bare(phrase) in _bare(text)


@lru_cache(_CACHED_TEXTS)
def _bare(text: str) -> str:
    return _POSSESSIVE.sub("", f" {_words(text)} ")


@lru_cache(_CACHED_TEXTS)
def _words(text: str) -> str:
    return " ".join(_TOKEN.findall(composed(text))).casefold()


def numbers(text: str) -> frozenset[str]:
    """Return the numbers in a text, in ASCII digits and without thousands separators."""
    return frozenset(
        re.sub(r"(?<=\d)[.,](?=\d{3}\b)", "", in_ascii(number)) for number in NUMBER.findall(text)
    )


def in_ascii(number: str) -> str:
    """Return a number in any digits in those of ASCII."""
    return "".join(str(unicodedata.decimal(each, each)) for each in number)


def plain(text: str) -> str:
    """Return Markdown text without emphasis, code marks, roles, tags, link targets and footnotes;
    code blocks stay.
    """
    pieces = CODE_BLOCK.split(blanked(text)) if "```" in text else [blanked(text)]
    pieces[::2] = [re.sub(r"[ \t]{2,}", " ", piece.replace("\0", "")) for piece in pieces[::2]]
    return "".join(pieces).strip()


def blanked(text: str) -> str:
    """Return Markdown text with NUL characters for all that :func:`plain` leaves out, so that
    offsets stay.
    """
    pieces = CODE_BLOCK.split(text) if "```" in text else [text]
    pieces[::2] = map(_without_marks, pieces[::2])
    return "".join(pieces)


def _without_marks(text: str) -> str:
    code, *others = _MARKED
    text = code.sub(lambda match: _blank(match, 2).translate(_KEPT_IN_CODE), text)
    for pattern in others:
        text = pattern.sub(_blank, text)
    return text.translate({private: mark for mark, private in _KEPT_IN_CODE.items()})


def _blank(match: re.Match[str], group: int | None = None) -> str:
    group = group or match.lastindex or 0
    start, end = match.span(group) if group else (match.end(), match.end())
    start, end = start - match.start(), end - match.start()
    return start * "\0" + match[0][start:end] + (len(match[0]) - end) * "\0"


def truncate(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return inputs by name, with long texts truncated."""
    return {
        name: text[: MAX_QUESTION if name == "question" else MAX_READ]
        for name, text in inputs.items()
    }


def title_of(topic: str) -> str:
    """Return the title in a topic; see :attr:`groundset.programs.types.Chunk.topic`."""
    return topic.split(" > ")[0]


def without_brackets(text: str) -> str:
    """Return a text without parentheses and their contents, which disturb parsers and questions."""
    return _BRACKETS.sub("", text)


def share(part: float, whole: float) -> float:
    """Return part / whole, 0 for an empty whole."""
    return part / whole if whole else 0.0
