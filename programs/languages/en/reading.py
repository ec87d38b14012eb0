"""The syntax of English, bound to what parses its sentences."""

from collections.abc import Iterable, Iterator
from typing import Any

from programs.languages.base import Askable, Condition, Link
from programs.languages.en.antecedent import resolved
from programs.languages.en.askable import askable
from programs.languages.en.conditions import conditions
from programs.languages.en.linking import describe, link, predicates
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import without_brackets
from programs.types import Focus, Parse


class _English:
    """Parses English sentences; see :class:`programs.languages.en.syntax.Read`."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse

    def __call__(self, sentence: str) -> Any:
        return self._parse(sentence, ENGLISH.code)

    def ahead(self, sentences: Iterable[str]) -> None:
        self._parse.read_ahead(sentences, ENGLISH.code)


class EnglishSyntax:
    """What is read off English sentences; see :class:`programs.languages.base.Syntax`."""

    def __init__(self, parse: Parse) -> None:
        """Take what parses English sentences with tags, dependencies and entities."""
        self._read = _English(parse)

    def read_ahead(self, facts: Iterable[str]) -> None:
        """Parse together what ``askable`` is going to be asked one by one."""
        self._read.ahead(without_brackets(fact) for fact in facts)

    def resolved(self, sentences: Iterable[str], topic: str) -> dict[str, str]:
        """Return each sentence whose subject is "it", "he" or "she" with what that stands for in its place."""
        return resolved(sentences, topic, self._read)

    def askable(self, fact: str, topic: str, passage: str) -> list[Askable]:
        """Return what a sentence can be asked, the most promising first."""
        return askable(self._read(without_brackets(fact)), topic, passage)

    def conditions(self, fact: str, question: str) -> Iterator[Condition]:
        """Yield the adverbial clauses of a sentence that a question can be put under."""
        return conditions(self._read(without_brackets(fact)), question)

    def link(self, passage: str, topic: str, focus: Focus, question: str) -> Link | None:
        """Return what ties a name in the question to a sentence of the passage, the longest name first."""
        return link(passage, topic, focus, question, self._read)

    def predicates(self, passage: str, topic: str) -> list[Link]:
        """Return what the sentences of a passage say of names, where a kind has to be found for it."""
        return predicates(passage, topic, self._read)

    def describe(self, question: str, link: Link, kind: str) -> str | None:
        """Return the question with the name replaced by its kind and what is said of it; None for a useless kind."""
        return describe(question, link, kind)
