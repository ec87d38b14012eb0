"""What a parser of one format returns, and how it says that it cannot."""

from collections.abc import Sequence
from typing import NamedTuple

from programs.types import Heading


class Parsed(NamedTuple):
    """A parsed document before it has an id: text, title (None if it shows none) and headings in order."""

    text: str
    title: str | None
    headings: Sequence[Heading]


class UnparsableError(Exception):
    """A file cannot become a document; the message is the reason in a few words, without the file's name."""
