"""Whom a pronoun or a bare surname stands for, so that a sentence in the middle of a passage can be asked about."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from programs.languages.en.syntax import Read, clauses, subject_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import without_brackets

_OF_PERSONS = frozenset({"he", "she"})
_MAY_HAVE_PRONOUN = re.compile(r"(?<![^\W\d_])(?:he|she|it)", re.IGNORECASE)  # a token may end inside a word: "hes"
# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_MOST_NAME_WORDS = 6


def resolved(sentences: Iterable[str], topic: str, read: Read) -> dict[str, str]:
    """Return each sentence whose subject is "it", "he" or "she" with what that stands for in its place.

    It stands for the subject of the sentence before, if title or headings name that and it fits: a person for "he"
    and "she", something else for "it". So the subject must stay the same, which is when readers need no help
    either.
    """
    found: dict[str, str] = {}
    listed = list(sentences)
    may = [_MAY_HAVE_PRONOUN.search(sentence) is not None for sentence in listed]
    # Only these can have such a subject, or be what it is looked for in.
    needed = [own or following for own, following in zip(may, [*may[1:], False], strict=True)]
    read.ahead(itertools.compress(listed, needed))
    known = set(ENGLISH.content_words(topic))
    name, person = "", False
    for sentence, is_needed in zip(listed, needed, strict=True):
        clause = next(clauses(read(sentence)), None) if is_needed else None
        if clause is None:
            name = ""
            continue
        subject: Any = clause.subject
        if subject.lower_ in _OF_PERSONS | {"it"}:
            if name and person == (subject.lower_ in _OF_PERSONS):
                end = subject.idx + len(subject)
                found[sentence] = f"{sentence[: subject.idx]}{name}{sentence[end:]}"
            else:
                name = ""
            continue
        text = subject_of(subject, "")
        person = subject.ent_type_ == "PERSON"
        fits = set(ENGLISH.content_words(text)) <= known
        name = text if subject.pos_ == "PROPN" and fits and len(text.split()) <= _MOST_NAME_WORDS else ""
    return found


def in_full(text: str, title: str, parsed: Any, passage: str) -> str:
    """Return words of a parsed sentence with the person of the title in full, who stands there by surname alone.

    Unchanged if the passage speaks of somebody else of that surname too.
    """
    name = without_brackets(title)
    first, _, surname = name.rpartition(" ")
    if not first or not any(entity.label_ == "PERSON" and entity.text == surname for entity in parsed.ents):
        return text
    before = re.findall(rf"\b([^\W\d_][\w’'-]*) {re.escape(surname)}\b(?! [A-Z])", passage)
    others = {word for word in before if word[:1].isupper() and word.casefold() not in ENGLISH.stop_words}
    if not others <= {first.split()[-1]}:
        return text
    return re.sub(rf"(?<![\w’'-])(?<!{re.escape(first)} ){re.escape(surname)}(?![\w-])", name, text)
