"""What an opening pronoun stands for, so that a sentence in the middle of a passage can be asked about."""

from collections.abc import Iterable
from typing import Any

from programs.syntax import clauses, subject_of
from programs.types import Parse
from programs.words import content_words

_OF_PERSONS = frozenset({"he", "she"})
_MOST_NAME_WORDS = 6


def resolved(sentences: Iterable[str], topic: str, language: str, parse: Parse) -> dict[str, str]:
    """Return each sentence whose subject is "it", "he" or "she" with what that stands for in its place.

    It stands for the subject of the sentence before, if title or headings name that and it fits: a person for "he"
    and "she", something else for "it". So the subject must stay the same, which is when readers need no help
    either.
    """
    found: dict[str, str] = {}
    known = set(content_words(topic, language))
    name, person = "", False
    for sentence in sentences:
        parsed = parse(sentence, language)
        clause = next(clauses(parsed), None) if parsed is not None else None
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
        fits = set(content_words(text, language)) <= known
        name = text if subject.pos_ == "PROPN" and fits and len(text.split()) <= _MOST_NAME_WORDS else ""
    return found
