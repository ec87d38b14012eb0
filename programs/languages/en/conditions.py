"""What a parsed English sentence makes its statement depend on, and the question under that."""

import re
from collections.abc import Iterator
from typing import Any

from programs.languages.base import Condition
from programs.languages.en.syntax import clauses, text_of
from programs.languages.en.words import WORDS as ENGLISH

_MARKERS = frozenset({"if", "when", "whenever", "after", "before", "unless", "until", "once", "as", "provided"})
_ASKS_TIME = r"(?:when|(?:in|on|at) (?:what|which) (?:year|date|time))\b"


def conditions(sentence: Any, question: str) -> Iterator[Condition]:
    """Yield each adverbial clause of a sentence that a question about it can be put under, with that question.

    For no question, each such clause is yielded as it is.
    """
    for clause in clauses(sentence):
        for child in clause.verb.children:
            text = _of_clause(child)
            composed = _compose(child, text, question) if text else ""
            if composed:
                yield Condition(text, composed)


def _of_clause(verb: Any) -> str:
    """Return the text of an adverbial clause that something depends on; nothing for any other token."""
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
    """Return the question under the condition, which comes last where its subject is that of the question."""
    if not question:
        return condition  # only whether there is one
    if re.match(_ASKS_TIME, question, re.IGNORECASE) and condition.startswith(("when", "as ")):
        return ""  # it asks for the time that the condition is
    pronouns, subject = ENGLISH.loose_pronouns(condition), _subject(verb)
    if pronouns or subject is None:
        own = subject is None or subject.pos_ == "PRON"
        return f"{question.rstrip('?')} {condition}?" if pronouns <= 1 and own else ""
    lowered = question[:1].lower() + question[1:]
    return f"{condition[:1].upper()}{condition[1:]}, {lowered}"
