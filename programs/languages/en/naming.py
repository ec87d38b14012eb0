"""Whether the words of a question tell a stranger what it is about, read off the sentence that they are from."""

import re
from typing import Any

from programs.languages.en.antecedent import in_full
from programs.languages.en.syntax import NAMING, Clause, is_bare, is_general
from programs.text import has_words, title_of, tokens, without_brackets

_OF_PERSONS = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)


def named(
    words: str, clause: Clause, topic: str, passage: str, *, subject_is_asked_for: bool = False, defines: bool = False
) -> tuple[str, bool]:
    """Return the words of a question with names in full, and whether they tell a stranger what it is about.

    They do so by the title, by a name that says which subject is meant, or where things of a kind are spoken of. "The
    CDP" tells no more than "the district" does, nor does a single name that neither title nor headings know.

    Args:
        words: what is asked, as far as it was read off the sentence.
        clause: where that was read.
        topic: title and headings, joined as in :class:`programs.types.Chunk`.
        passage: what the sentence is from.
        subject_is_asked_for: whether the question asks for the subject of the clause.
        defines: whether it asks what the subject is.
    """
    sentence, subject = clause.verb.doc, clause.subject
    title = title_of(topic)
    text = without_brackets(" ".join(words.split()))
    full = in_full(text, title, sentence, passage)
    if _is_glued(text, clause.verb) or (defines and text.startswith("Who ") and not _OF_PERSONS.search(passage)):
        return full, False
    if is_general(clause) or (title and has_words(full, title)):
        return full, True
    if not (subject_is_asked_for or defines):
        single = subject.pos_ == "PROPN" and is_bare(subject) and full == text
        if (single and subject.text.casefold() not in tokens(topic)) or not is_anchored(subject):
            return full, False
    said = set(full.split())
    names = (token.text for token in sentence if token.pos_ == "PROPN" and token.text in said)
    return full, any(name[:1].isupper() and not name.isupper() for name in names)


def is_anchored(noun: Any) -> bool:
    """Return whether a noun is a name or a name or a year stands with it: "the mill of Orsle", but not "the mill"."""
    if noun.pos_ == "PROPN":
        return noun.i == 0 or noun.nbor(-1).lower_ != "the" or not is_bare(noun)
    if noun.pos_ == "NUM":
        return len(noun.text) == len("1908")
    if any(character.isupper() for character in noun.text[1:]):
        return True
    for child in noun.children:
        below = child.children if child.dep_ == "prep" else [child] if child.dep_ in NAMING else []
        if any(is_anchored(each) for each in below):
            return True
    return False


def _is_glued(text: str, verb: Any) -> bool:
    """Return whether words follow one another that a comma keeps apart: "over the terrace the Brine End"."""
    after_commas = (token for token in verb.doc[verb.i + 1 :] if token.nbor(-1).text == "," and token.dep_ != "prep")
    words = [token.text for token in verb.doc]
    return any(
        words.count(token.text) == 1 and re.search(rf"\w {re.escape(token.text)}(?!\w)", text) for token in after_commas
    )
