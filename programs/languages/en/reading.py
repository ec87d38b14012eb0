"""The syntax of English, on top of a parser."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from programs.languages.base import Askable, Condition, Link
from programs.languages.en.antecedent import resolve_subjects
from programs.languages.en.askable import askable
from programs.languages.en.linking import describe, link, predicates
from programs.languages.en.syntax import clauses, text_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import without_brackets
from programs.types import Focus, Parse

_MARKERS = frozenset({"if", "when", "whenever", "after", "before", "unless", "until", "once", "as", "provided"})
_ASKS_TIME = r"(?:when|(?:in|on|at) (?:what|which) (?:year|date|time))\b"


def conditions(sentence: Any, question: str) -> Iterator[Condition]:
    """Yield the adverbial clauses of a sentence that can be joined to a question, with that question.

    If the question is empty, each such clause is yielded as it is.
    """
    for clause in clauses(sentence):
        for child in clause.verb.children:
            text = _of_clause(child)
            composed = _compose(child, text, question) if text else ""
            if composed:
                yield Condition(text, composed)


def _of_clause(verb: Any) -> str:
    """Return the text of an adverbial clause by its verb; empty for any other token."""
    opens = verb.left_edge.lower_
    if verb.dep_ != "advcl" or not (opens in _MARKERS or (opens == "while" and verb.tag_ == "VBG")):
        return ""
    if verb.tag_ != "VBG" and _subject(verb) is None:
        return ""
    text = text_of(verb.subtree)
    return text[:1].lower() + text[1:]


def _subject(verb: Any) -> Any:
    return next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)


def _compose(verb: Any, condition: str, question: str) -> str:
    """Return the question with the condition, which comes last if they have the same subject."""
    if not question:
        return condition
    if re.match(_ASKS_TIME, question, re.IGNORECASE) and condition.startswith(("when", "as ")):
        return ""  # the condition would be the answer
    pronouns, subject = ENGLISH.loose_pronouns(condition), _subject(verb)
    if pronouns or subject is None:
        same_subject = subject is None or subject.pos_ == "PRON"
        return f"{question.rstrip('?')} {condition}?" if pronouns <= 1 and same_subject else ""
    lowered = question[:1].lower() + question[1:]
    return f"{condition[:1].upper()}{condition[1:]}, {lowered}"


class _Parser:
    """Parses English sentences; see :class:`programs.languages.en.syntax.EnglishParser`."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse

    def __call__(self, sentence: str) -> Any:
        return self._parse(sentence, ENGLISH.code)

    def ahead(self, sentences: Iterable[str]) -> None:
        self._parse.read_ahead(sentences, ENGLISH.code)


class EnglishSyntax:
    """Analyses English sentences; for its methods see :class:`programs.languages.base.Syntax`."""

    def __init__(self, parse: Parse) -> None:
        """Build the syntax from a parser with tags, dependencies and entities."""
        self._read = _Parser(parse)

    def read_ahead(self, facts: Iterable[str]) -> None:
        """Parse sentences in one batch."""
        self._read.ahead(without_brackets(fact) for fact in facts)

    def resolve_subjects(self, sentences: Iterable[str], topic: str) -> dict[str, str]:
        """Return sentences with a name instead of their pronoun."""
        return resolve_subjects(sentences, topic, self._read)

    def askable(self, fact: str, topic: str, passage: str) -> list[Askable]:
        """Return the possible questions about a sentence."""
        return askable(self._read(without_brackets(fact)), topic, passage)

    def conditions(self, fact: str, question: str) -> Iterator[Condition]:
        """Yield the conditions in a sentence."""
        return conditions(self._read(without_brackets(fact)), question)

    def link(self, passage: str, topic: str, focus: Focus, question: str) -> Link | None:
        """Return a description of a name in the question."""
        return link(passage, topic, focus, question, self._read)

    def predicates(self, passage: str, topic: str) -> list[Link]:
        """Return the predicates about names."""
        return predicates(passage, topic, self._read)

    def describe(self, question: str, link: Link, kind: str) -> str | None:
        """Return the question with a name replaced by its description."""
        return describe(question, link, kind)
