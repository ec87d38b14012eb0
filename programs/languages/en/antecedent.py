"""Resolving pronouns and bare surnames, so that a sentence from the middle of a passage can be asked about."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from programs.languages.en.syntax import EnglishParser, clauses, is_bare, subject_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import has_words, without_brackets

_PERSONAL = frozenset({"he", "she"})
_MAY_HAVE_PRONOUN = re.compile(r"(?<![^\W\d_])(?:he|she|it)", re.IGNORECASE)  # a token may end inside a word: "hes"
# Set by hand on samples from data/samples and 16 articles; not fitted.
_MAX_NAME_WORDS = 6
_GIVEN_NAME = r"\b[^\W\d_a-zß-ÿ][\w’'-]*"


def resolve_subjects(sentences: Iterable[str], topic: str, read: EnglishParser) -> dict[str, str]:
    """Return, for each sentence whose subject is "it", "he" or "she", the sentence with the antecedent instead.

    The antecedent is the subject of the sentence before, if title or headings contain it and it fits: a person for "he"
    and "she", something else for "it".
    """
    found: dict[str, str] = {}
    listed = list(sentences)
    may = [_MAY_HAVE_PRONOUN.search(sentence) is not None for sentence in listed]
    # Only sentences that may have such a subject, or that precede one, are parsed.
    needed = [current or following for current, following in zip(may, [*may[1:], False], strict=True)]
    read.ahead(itertools.compress(listed, needed))
    known = set(ENGLISH.content_words(topic))
    name, person = "", False
    for sentence, is_needed in zip(listed, needed, strict=True):
        clause = next(clauses(read(sentence)), None) if is_needed else None
        if clause is None:
            name = ""
            continue
        subject: Any = clause.subject
        if subject.lower_ in _PERSONAL | {"it"}:
            if name and person == (subject.lower_ in _PERSONAL):
                end = subject.idx + len(subject)
                found[sentence] = f"{sentence[: subject.idx]}{name}{sentence[end:]}"
            else:
                name = ""
            continue
        text = subject_of(subject, "")
        person = subject.ent_type_ == "PERSON"
        fits = set(ENGLISH.content_words(text)) <= known
        name = text if subject.pos_ == "PROPN" and fits and len(text.split()) <= _MAX_NAME_WORDS else ""
    return found


def in_full(text: str, title: str, parsed: Any, passage: str) -> str:
    """Return words of a parsed sentence with names in full: the title for "the League", the full name for a surname.

    Ambiguous names are not changed.
    """
    return _persons_in_full(_title_in_full(text, title, parsed), title, parsed, passage)


def _title_in_full(text: str, title: str, parsed: Any) -> str:
    """Replace the bare head noun of the title by the title: "the League", "the Club"."""
    name = re.sub(r"^the ", "", without_brackets(title), flags=re.IGNORECASE)
    before, of, after = name.partition(" of ")
    head = (name if not of or "," in after else before).rpartition(" ")[2]
    alone = rf"(?<![\w-])[Tt]he {re.escape(head)}(?![\w-])"
    known = has_words(text, name) or ":" in name or not 1 < len(name.split()) <= _MAX_NAME_WORDS
    if known or not head[:1].isupper() or not re.search(alone, text):
        return text
    nouns = [token for token in parsed if token.text == head and token.i and parsed[token.i - 1].lower_ == "the"]
    if all(is_bare(noun) for noun in nouns):
        return re.sub(alone, lambda _: f"the {name}", text, count=1)
    return text


def _persons_in_full(text: str, title: str, parsed: Any, passage: str) -> str:
    """Replace surnames by full names from title or passage, if only one person there has the surname."""
    alone = [entity.root for entity in parsed.ents if entity.label_ == "PERSON" and len(entity) == 1]
    alone = [token for token in alone if token.dep_ != "compound" and (not token.i or token.nbor(-1).lower_ != "the")]
    for surname in dict.fromkeys(token.text for token in alone):
        runs = re.findall(rf"((?:{_GIVEN_NAME} )+){re.escape(surname)}\b(?! [A-Z])", f"{title}\n{passage}")
        given = [[word for word in run.split() if word.casefold() not in ENGLISH.stop_words] for run in runs]
        given = [words for words in given if words]
        if len({words[-1] for words in given}) != 1:
            continue
        name = " ".join(given[0])
        if len(name.split()) < _MAX_NAME_WORDS and not has_words(text, f"{given[0][-1]} {surname}"):
            text = re.sub(rf"(?<![\w’'-]){re.escape(surname)}(?![\w-])", f"{name} {surname}", text, count=1)
    return text
