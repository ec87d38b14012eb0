"""Reading the lines of the critic ``verdict``: a reason, then a label, then how sure the model is. It never fails."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_EDGES = " \t\"'“”*_`|.,;:-–—()[]<>="
_LONGEST = 300  # characters of a reason: it is shown to who reads rejects, and to the model that mends a question
_UNSAID = 80  # how sure a model counts as that says no number


class ReadLine(NamedTuple):
    """What one line says.

    Attributes:
        label: one of the labels that were offered.
        sure: from 0 to 100.
        reason: why, in a sentence; it may be empty.
    """

    label: str
    sure: int
    reason: str


def read_lines(text: str, offered: Mapping[str, Sequence[str]]) -> dict[str, ReadLine]:
    """Return what a completion says under each title; titles whose line cannot be read are left out.

    Args:
        text: the completion.
        offered: the labels to choose from, by title. Where there is one title, its line may come without.
    """
    text = _THOUGHT.sub("", text).strip()
    titles = {_plain(title): title for title in offered}
    either = "|".join(title.replace(" ", "[ _-]") for title in titles)
    number = r"(?:\d{1,2}[.)][^\w\n]*)?"
    begins = re.compile(
        rf"^(?:[^\w\n]|_)*{number}({either})[*_`\"]*[ \t]*[:=–—-][*_`\"]*[ \t]*", re.IGNORECASE | re.MULTILINE
    )
    found = list(begins.finditer(text))
    if not found and len(offered) == 1:
        pieces = [(next(iter(offered)), text)]
    else:
        ends = [*(match.start() for match in found), len(text)][1:]
        pieces = [(titles[_plain(match[1])], text[match.end() : end]) for match, end in zip(found, ends, strict=True)]
    verdicts = {}
    for title, piece in pieces:  # a title that comes again is a model that thought again
        if (verdict := _read(piece, offered[title])) is not None:
            verdicts[title] = verdict
    return verdicts


def _read(piece: str, labels: Sequence[str]) -> ReadLine | None:
    """Return what stands at the end of a line, or else at the beginning of the first one."""
    either = "|".join(map(re.escape, labels))
    sure = r"[\s,;:.(*_-]+(?:[a-z]+[\s:=]+){0,3}(\d{1,3}(?:\.\d+)?)\s*(?:%|/\s*100|percent)?"
    last = re.compile(rf"(?<![\w|/])(?<!or )({either})(?:{sure})?(?:\s*\([^()]*\))?[\W_]*$", re.IGNORECASE)
    # Some models put the verdict, or the number, on a line of its own.
    piece = re.sub(rf"\s*\n[\W_]*({either}|\d{{1,3}})[\W_]*$", r" - \1", piece, flags=re.IGNORECASE | re.MULTILINE)
    before: list[str] = []
    for line in piece.splitlines():
        if match := last.search(line):
            said = " ".join([*before, line[: match.start()]])
            return ReadLine(_offered(match[1], labels), _sure(match[2]), _tidy(said))
        before.append(line)
    first = re.match(rf"[\W_]*({either})\b(?!\s*(?:or\b|[|/]))(?:[\s,;:(*_-]+(\d{{1,3}})\b)?", piece, re.IGNORECASE)
    if first is None:
        return None
    return ReadLine(_offered(first[1], labels), _sure(first[2]), _tidy(piece[first.end() :]))


def _plain(title: str) -> str:
    return re.sub(r"[ _-]", " ", title).casefold()


def _offered(said: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if label.casefold() == said.casefold())


def _sure(number: str | None) -> int:
    if number is None:
        return _UNSAID
    value = float(number)
    return min(round(100 * value if "." in number and value <= 1 else value), 100)


def _tidy(reason: str) -> str:
    return _SPACE.sub(" ", reason).strip(_EDGES)[:_LONGEST].rstrip(_EDGES)
