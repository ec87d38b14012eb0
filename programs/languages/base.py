"""What a language is to everything that reads text: its words and forms, and for some a syntax."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from programs.languages.forms import Forms
from programs.languages.words import Words
from programs.types import Focus, Parse


class Askable(NamedTuple):
    """An answer, the question for it as far as the sentence gives its words, and how promising it is.

    ``named`` says whether the question holds a proper name; most that hold none do not say what they ask about.
    ``defines`` says whether it asks what something is.
    """

    answer: str
    opening: str
    worth: float
    named: bool
    defines: bool = False


class Link(NamedTuple):
    """A name of the question, a sentence of the passage that tells of it, and what that says.

    ``predicate`` is a verb with what follows it, and empty where ``kind`` says all ("a ferry of 1902"). Where it is
    not, ``kind`` is "person" for one, and empty where somebody has to find it.
    """

    name: str
    sentence: str
    predicate: str
    kind: str = ""


class Condition(NamedTuple):
    """A clause or phrase of the focus; ``composed`` is the question under it, as far as syntax settles that."""

    text: str
    composed: str = ""


class Syntax(Protocol):
    """What is read off the parsed sentences of a language; it is bound to what parses them."""

    def read_ahead(self, facts: Iterable[str]) -> None:
        """Parse in one batch the sentences that ``askable`` will be called with."""
        ...

    def resolved(self, sentences: Iterable[str], topic: str) -> Mapping[str, str]:
        """Return each sentence of a passage that can stand alone once its subject is named, with that name in it."""
        ...

    def askable(self, fact: str, topic: str, passage: str) -> list[Askable]:
        """Return what a sentence of a passage can be asked, the most promising first.

        Args:
            fact: the sentence, with a name in place of its subject where that is known.
            topic: title and headings; the title stands in for a bare noun such as "the museum".
            passage: where the sentence stands.
        """
        ...

    def conditions(self, fact: str, question: str) -> Iterator[Condition]:
        """Yield the clauses of a sentence that a question about it can be put under; all of them for no question."""
        ...

    def link(self, passage: str, topic: str, focus: Focus, question: str) -> Link | None:
        """Return what ties a name in the question to a sentence of the passage, the longest name first."""
        ...

    def predicates(self, passage: str, topic: str) -> list[Link]:
        """Return what the sentences of a passage say of names, where a kind has to be found for it."""
        ...

    def describe(self, question: str, link: Link, kind: str) -> str | None:
        """Return the question with the name replaced by its kind and what is said of it; None for a useless kind."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Language(Words, Forms):
    """A language: all that programs know of it. One whose code is all that is known is neutral.

    Attributes:
        syntax: makes the language's syntax of what parses its sentences.
    """

    syntax: Callable[[Parse], Syntax] | None = None
