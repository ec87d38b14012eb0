"""Languages: words and forms, and for some a syntax."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from programs.languages.forms import Forms
from programs.languages.words import Words
from programs.types import Focus, Parse


class Askable(NamedTuple):
    """An answer in a sentence, with the beginning of its question.

    Attributes:
        answer: the answer.
        opening: the words of the question, as far as the sentence determines them.
        score: how promising it is.
        named: whether a reader without the passage can tell what the question is about, usually by a proper name in it.
        defines: whether the question asks for a definition.
    """

    answer: str
    opening: str
    score: float
    named: bool
    defines: bool = False


class Link(NamedTuple):
    """A name in a question, a sentence of the passage that describes it, and the description.

    Without ``predicate``, ``kind`` is the whole description ("ferry of 1902"). If predicate (a verb phrase) is set,
    kind is "person" or empty (the model supplies it).
    """

    name: str
    sentence: str
    predicate: str
    kind: str = ""


class Condition(NamedTuple):
    """A condition in the sentence of a focus; ``composed`` is the question with it, if syntax can join them."""

    text: str
    composed: str = ""


class Syntax(Protocol):
    """Analyses the parsed sentences of a language."""

    def read_ahead(self, facts: Iterable[str]) -> None:
        """Parse in one batch the sentences that ``askable`` will be called with."""
        ...

    def resolve_subjects(self, sentences: Iterable[str], topic: str) -> Mapping[str, str]:
        """Return, for each sentence of a passage with a pronoun as subject, the sentence with its name instead."""
        ...

    def askable(self, fact: str, topic: str, passage: str) -> list[Askable]:
        """Return the possible questions about a sentence, the most promising first.

        Args:
            fact: the sentence, with a name as its subject if that is known.
            topic: title and headings; the title replaces a bare noun such as "the museum".
            passage: the passage that contains the sentence.
        """
        ...

    def conditions(self, fact: str, question: str) -> Iterator[Condition]:
        """Yield the clauses of a sentence that can be joined to a question as a condition; all if it is empty."""
        ...

    def link(self, passage: str, topic: str, focus: Focus, question: str) -> Link | None:
        """Return a sentence of the passage that describes a name in the question, preferring long names."""
        ...

    def predicates(self, passage: str, topic: str) -> list[Link]:
        """Return the predicates about names in a passage that need a kind from the model."""
        ...

    def describe(self, question: str, link: Link, kind: str) -> str | None:
        """Return the question with the name replaced by its description; None if the kind is unusable."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Language(Words, Forms):
    """A language. A language with only a code gets neutral defaults.

    Attributes:
        syntax: builds its syntax from a parser.
    """

    syntax: Callable[[Parse], Syntax] | None = None
