"""What holds for texts of any language: words, numbers, plain text, and the patterns that many measurements share."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = r"[^\W\d_a-zß-ÿ][\w’'-]+"
CAPITALISED = re.compile(rf"\b{NAME}")
CODE = re.compile(r"[{}<>;=\\$_]|\(\)|::|->|\|")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?:\[\d+\])*\s*$")
# Characters of a text that programs, critics and the detection of its language look at; the rest of a longer one is not
# read. It is twenty pages, ten times a large chunk; what is measured on more takes minutes.
MAX_READ = 50_000
MAX_QUESTION = 5_000  # of a question; some patterns that tell a bad one take time with the square of its length
_KEPT_TEXTS = 1_024  # every measurement of a passage looks at its words
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)")  # from the first space of a run only
# The text of a link has an end: looked for from each of many brackets, one far away takes time with their square.
# So does its target, which ends where another link's begins.
_TARGET = r"[^)\s\]]*(?:\](?!\()[^)\s\]]*)*"
_MARKUP = re.compile(
    rf"!?\[([^\]\n]{{0,500}})\]\({_TARGET}\)|\[\^?\d+\]|(?<!\w)[*_`]+(?=\S)|(?<=\S)[*_`]+(?!\w)|</?[a-z]+>"
)
_POSSESSIVE = re.compile(r"['’]s(?= )")


def tokens(text: str) -> list[str]:
    """Return words and numbers in lower case."""
    return _words(text).split()


def has_words(text: str, phrase: str) -> bool:
    """Return whether a text holds the words of a phrase in a row; "Brock's" is the word "Brock"."""
    return _bare(phrase) in _bare(text)


@lru_cache(_KEPT_TEXTS)
def _bare(text: str) -> str:
    return _POSSESSIVE.sub("", f" {_words(text)} ")


@lru_cache(_KEPT_TEXTS)
def _words(text: str) -> str:
    return " ".join(_TOKEN.findall(text)).casefold()


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, without thousands separators."""
    return frozenset(re.sub(r"(?<=\d)[.,](?=\d{3}\b)", "", number) for number in NUMBER.findall(text))


def plain(text: str) -> str:
    """Return Markdown text without emphasis, code marks, link targets and footnote marks."""
    return re.sub(r"[ \t]{2,}", " ", _MARKUP.sub(lambda match: match.group(1) or "", text)).strip()


def plain_passage(texts: Iterable[str]) -> str:
    """Return Markdown texts as the one passage that critics see, without markup; of long ones the beginning."""
    return "\n\n".join(plain(text[:MAX_READ]) for text in texts)


def beginnings(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return texts by name, of long ones the beginning."""
    return {name: text[: MAX_QUESTION if name == "question" else MAX_READ] for name, text in inputs.items()}


def title_of(topic: str) -> str:
    """Return the title of a document from title and headings in one line, as :attr:`programs.types.Chunk.topic`."""
    return topic.split(" > ")[0]


def without_brackets(text: str) -> str:
    """Return a text without what stands in round brackets; parsers and questions do better without it."""
    return _BRACKETS.sub("", text)


def share(part: float, whole: float) -> float:
    """Return part / whole, 0 for an empty whole."""
    return part / whole if whole else 0.0
