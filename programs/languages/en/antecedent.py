"""Whom a pronoun or a bare surname stands for, so that a sentence in the middle of a passage can be asked about."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from programs.languages.en.syntax import Read, clauses, is_bare, subject_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import has_words, without_brackets

_OF_PERSONS = frozenset({"he", "she"})
_MAY_HAVE_PRONOUN = re.compile(r"(?<![^\W\d_])(?:he|she|it)", re.IGNORECASE)  # a token may end inside a word: "hes"
# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_MOST_NAME_WORDS = 6
_GIVEN_NAME = r"\b[^\W\d_a-zß-ÿ][\w’'-]*"


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
    """Return words of a parsed sentence with names in full: the title for "the League", a person for a surname.

    A name that may be that of something or somebody else in the passage stays as it is.
    """
    return _persons_in_full(_title_in_full(text, title, parsed), title, parsed, passage)


def _title_in_full(text: str, title: str, parsed: Any) -> str:
    """Put the title in the place of the noun at its head where that stands alone: "the League", "the Club"."""
    name = re.sub(r"^the ", "", without_brackets(title), flags=re.IGNORECASE)
    before, of, after = name.partition(" of ")
    head = (name if not of or "," in after else before).rpartition(" ")[2]
    alone = rf"(?<![\w-])[Tt]he {re.escape(head)}(?![\w-])"
    known = has_words(text, name) or ":" in name or not 1 < len(name.split()) <= _MOST_NAME_WORDS
    if known or not head[:1].isupper() or not re.search(alone, text):
        return text
    nouns = [token for token in parsed if token.text == head and token.i and parsed[token.i - 1].lower_ == "the"]
    if all(is_bare(noun) for noun in nouns):
        return re.sub(alone, lambda _: f"the {name}", text, count=1)
    return text


def _persons_in_full(text: str, title: str, parsed: Any, passage: str) -> str:
    """Put the name that title or passage gives a person in the place of a surname that nobody else there has."""
    alone = [entity.root for entity in parsed.ents if entity.label_ == "PERSON" and len(entity) == 1]
    alone = [token for token in alone if token.dep_ != "compound" and (not token.i or token.nbor(-1).lower_ != "the")]
    for surname in dict.fromkeys(token.text for token in alone):
        runs = re.findall(rf"((?:{_GIVEN_NAME} )+){re.escape(surname)}\b(?! [A-Z])", f"{title}\n{passage}")
        given = [[word for word in run.split() if word.casefold() not in ENGLISH.stop_words] for run in runs]
        given = [words for words in given if words]
        if len({words[-1] for words in given}) != 1:
            continue
        name = " ".join(given[0])
        if len(name.split()) < _MOST_NAME_WORDS and not has_words(text, f"{given[0][-1]} {surname}"):
            text = re.sub(rf"(?<![\w’'-]){re.escape(surname)}(?![\w-])", f"{name} {surname}", text, count=1)
    return text
