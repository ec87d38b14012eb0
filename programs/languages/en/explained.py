"""Questions whose answers are phrases and clauses of a parsed English sentence: definitions, reasons, materials.

Other answers, names, times and amounts, are in ``askable``.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from programs.languages.en.syntax import (
    PLACES,
    TIMES,
    VAGUE_NOUNS,
    Clause,
    Verb,
    clauses,
    ends_at_punctuation,
    is_informative,
    leading,
    rest_of,
    subject_of,
    text_of,
    verb_of,
)
from programs.languages.en.words import WORDS as ENGLISH

_ARTICLES = frozenset({"a", "an", "the"})
_AFTER_PASSIVE = frozenset({"after", "as", "for", "from", "into", "of", "on", "with"})
_AFTER_ACTIVE = frozenset({"of", "on"})
_REASON_WORDS = range(4, 26)
_DEFINITION_WORDS = range(4, 26)
_PHRASE_WORDS = range(2, 11)
# Set by hand on samples from data/samples and 16 articles; not fitted.
_MAX_DEFINED_WORDS = 6


class Explanation(NamedTuple):
    """An answer with its question, clause, score, and whether it is a definition."""

    answer: str
    opening: str
    clause: Clause
    score: float
    defines: bool = False


def explanations(sentence: Any, title: str) -> Iterator[Explanation]:
    """Yield the explanations in the clauses of a sentence; for ``title`` see ``subject_of``."""
    for clause in clauses(sentence):
        verb, subject = verb_of(clause.verb), subject_of(clause.subject, title)
        if verb is None or not subject or subject[0].isdigit():
            continue
        for find in (_definitions, _reasons, _phrases):
            yield from find(clause, verb, subject)


def _definitions(clause: Clause, verb: Verb, subject: str) -> Iterator[Explanation]:
    """Ask what a thing is: "What is Gridfold?"."""
    if clause.verb.lemma_ != "be" or verb.rest or len(subject.split()) > _MAX_DEFINED_WORDS:
        return
    for noun in clause.verb.children:
        if noun.dep_ != "attr" or noun.i < clause.verb.i or noun.pos_ != "NOUN" or noun.lemma_ in VAGUE_NOUNS:
            continue
        articles = [child.lower_ for child in noun.children if child.dep_ == "det"]
        bare = noun.tag_ == "NNS" and not articles
        answer = leading(noun)
        fits = len(answer.split()) in _DEFINITION_WORDS and not rest_of(clause, noun.i)
        fits = fits and not any(token.tag_ in ("JJS", "RBS") for token in noun.subtree)
        if fits and (bare or _ARTICLES.issuperset(articles)):
            person = clause.subject.ent_type_ == "PERSON"
            # In the past tense there are many possible answers; single words are often wrongly labelled as persons.
            if (person and " " in subject) or (not person and clause.verb.tag_ != "VBD"):
                word = "Who" if person else "What"
                yield Explanation(answer, f"{word} {verb.auxiliary} {subject}", clause, 1.3, True)


def _reasons(clause: Clause, verb: Verb, subject: str) -> Iterator[Explanation]:
    """Ask why, for a clause with "because" or "so that", a phrase with "due to", or a purpose."""
    for child in clause.verb.children:
        if child.i < clause.verb.i or child.dep_ not in ("advcl", "prep") or not _gives_reason(clause, child):
            continue
        answer, rest = text_of(child.subtree), rest_of(clause, child.i)
        fits = len(answer.split()) in _REASON_WORDS and not ENGLISH.context_reference.search(answer)
        if fits and (verb.rest or rest):
            yield Explanation(answer, f"Why {verb.auxiliary} {subject} {verb.rest} {rest}", clause, 1.4)


def _gives_reason(clause: Clause, part: Any) -> bool:
    """Return whether a part of a clause is a reason: "so that it can hide" is one, "so that it is deaf" is not."""
    first, second = (token.lower_ for token in part.doc[part.left_edge.i : part.left_edge.i + 2])
    if not ends_at_punctuation(part.right_edge) or re.search("[;:]", part.doc[clause.verb.i : part.left_edge.i].text):
        return False
    if first == "because" or (first, second) == ("due", "to"):
        return True
    if (first, second) == ("so", "that"):
        return any(child.tag_ == "MD" for child in part.children)
    easy = any(child.dep_ == "acomp" for child in clause.verb.children)  # "easy to read"
    return part.tag_ == "VB" and (first == "to" or (first, second) == ("in", "order")) and not easy


def _phrases(clause: Clause, verb: Verb, subject: str) -> Iterator[Explanation]:
    """Ask for the object of a verb's preposition: "What are the lanterns made from?"."""
    if not verb.rest:
        return
    known = _AFTER_PASSIVE if verb.passive else _AFTER_ACTIVE
    for preposition in clause.verb.children:
        if preposition.dep_ != "prep" or preposition.lower_ not in known or preposition.i != clause.verb.i + 1:
            continue
        for noun in preposition.children:
            label = noun.ent_type_
            answer = leading(noun)
            listed = label and any(child.dep_ == "conj" for child in noun.children)
            if noun.dep_ != "pobj" or not is_informative(noun.subtree) or label in TIMES | PLACES or listed:
                continue
            if len(answer.split()) in _PHRASE_WORDS:
                word = "Who" if label == "PERSON" else "What"
                opening = f"{word} {verb.auxiliary} {subject} {verb.rest} {preposition.text}"
                yield Explanation(answer, f"{opening} {rest_of(clause, preposition.i)}", clause, 1.1)
