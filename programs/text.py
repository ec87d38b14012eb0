"""Words, numbers and plain text in any language."""

import re
from collections.abc import Mapping
from functools import lru_cache

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = r"[^\W\d_a-zß-ÿ][\w’'-]+"
CAPITALISED = re.compile(rf"\b{NAME}")
CODE = re.compile(r"[{}<>;=\\$_]|\(\)|::|->|\|")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?:\[\d+\])*\s*$")
# Characters of a text that are read; longer texts are truncated. That is twenty pages, ten times a large chunk.
MAX_READ = 50_000
MAX_QUESTION = 5_000  # of a question; some patterns take quadratic time
_CACHED_TEXTS = 1_024
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)")  # from the first of several spaces, or it takes quadratic time
# The text of a link is limited, and its target ends where another one begins, or many brackets take quadratic time.
_TARGET = r"[^)\s\]]*(?:\](?!\()[^)\s\]]*)*"
_MARKUP = re.compile(
    rf"!?\[([^\]\n]{{0,500}})\]\({_TARGET}\)|\[\^?\d+\]|(?<!\w)[*_`]+(?=\S)|(?<=\S)[*_`]+(?!\w)|</?[a-z]+>"
)
_CODE_BLOCK = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_POSSESSIVE = re.compile(r"['’]s(?= )")


def tokens(text: str) -> list[str]:
    """Return words and numbers in lower case."""
    return _words(text).split()


def one_line(text: object) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(str(text).split())


def has_words(text: str, phrase: str) -> bool:
    """Return whether a text contains the words of a phrase in sequence; "Brock's" counts as "Brock"."""
    return _bare(phrase) in _bare(text)


@lru_cache(_CACHED_TEXTS)
def _bare(text: str) -> str:
    return _POSSESSIVE.sub("", f" {_words(text)} ")


@lru_cache(_CACHED_TEXTS)
def _words(text: str) -> str:
    return " ".join(_TOKEN.findall(text)).casefold()


def numbers(text: str) -> frozenset[str]:
    """Return the numbers in a text, without thousands separators."""
    return frozenset(re.sub(r"(?<=\d)[.,](?=\d{3}\b)", "", number) for number in NUMBER.findall(text))


def plain(text: str) -> str:
    """Return Markdown text without emphasis, code marks, link targets and footnote marks; code blocks stay."""
    pieces = _CODE_BLOCK.split(text) if "```" in text else [text]
    pieces[::2] = [
        re.sub(r"[ \t]{2,}", " ", _MARKUP.sub(lambda match: match.group(1) or "", piece)) for piece in pieces[::2]
    ]
    return "".join(pieces).strip()


def blanked(text: str) -> str:
    """Return Markdown text with NUL characters for all that :func:`plain` leaves out, so that offsets stay."""
    pieces = _CODE_BLOCK.split(text) if "```" in text else [text]
    pieces[::2] = [_MARKUP.sub(_blank, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _blank(match: re.Match[str]) -> str:
    kept = match.group(1) or ""
    before = match.start(1) - match.start() if kept else 0
    return (before * "\0" + kept).ljust(match.end() - match.start(), "\0")


def truncate(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return inputs by name, with long texts truncated."""
    return {name: text[: MAX_QUESTION if name == "question" else MAX_READ] for name, text in inputs.items()}


def title_of(topic: str) -> str:
    """Return the title in a topic; see :attr:`programs.types.Chunk.topic`."""
    return topic.split(" > ")[0]


def without_brackets(text: str) -> str:
    """Return a text without parentheses and their contents, which disturb parsers and questions."""
    return _BRACKETS.sub("", text)


def share(part: float, whole: float) -> float:
    """Return part / whole, 0 for an empty whole."""
    return part / whole if whole else 0.0
