"""Descriptions of names in other sentences of the passage, for the evolution ``reasoning``.

English only: in other languages, a description must agree with the name that it replaces in gender and case.
"""

import re
from collections.abc import Iterator
from typing import Any

from programs.languages.base import Link
from programs.languages.en.antecedent import resolve_subjects
from programs.languages.en.syntax import VAGUE_NOUNS, EnglishParser, clauses, leading, rest_of, text_of, verb_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import tokens, without_brackets
from programs.types import Focus

_NAME = re.compile(r"(?:[^\W\d_a-zß-ÿ][\w’'-]*)(?:(?: (?:of|the|and|von|der|de|du|del|la))* [^\W\d_a-zß-ÿ][\w’'-]*)*")
_WORDS = range(3, 15)
# Set by hand on samples from data/samples and 16 articles; not fitted.
_MIN_CONTENT_WORDS = 3
_PERSON = "person"
_MIN_OTHER_WORDS = 2  # words of the question beside the name


def link(passage: str, topic: str, focus: Focus, question: str, read: EnglishParser) -> Link | None:
    """Return a sentence of the passage that describes a name in the question, preferring long names.

    A sentence describes its subject, and names followed by an apposition or a clause with "who" or "which". The
    description must be understandable alone and must not contain the answer. In the sentence asked about, only
    appositions and clauses count.
    """
    names = _names(read(question), focus)
    parsed_all = list(_parsed(passage, topic, read)) if names else []
    for name in names:
        for sentence, parsed in parsed_all:
            for linked in _descriptions(parsed, name, sentence, asides_only=sentence == focus.sentence):
                if _is_usable(linked, focus.answer, question):
                    person = linked.predicate and _is_person(name, parsed_all)
                    return linked._replace(kind=_PERSON) if person else linked
    return None


def predicates(passage: str, topic: str, read: EnglishParser) -> list[Link]:
    """Return the predicates about names in a passage that need a kind from the model."""
    found = [
        linked
        for sentence, parsed in _parsed(passage, topic, read)
        for name in dict.fromkeys(_NAME.findall(parsed.text))
        if any(token.pos_ == "PROPN" and token.text in name for token in parsed)
        for linked in _descriptions(parsed, name, sentence, asides_only=False)
        if linked.predicate
        and not linked.kind
        and _is_usable(linked, "-", name)
        and not set(tokens(name)) <= ENGLISH.stop_words
    ]
    return list(dict.fromkeys(found))


def _parsed(passage: str, topic: str, read: EnglishParser) -> Iterator[tuple[str, Any]]:
    """Yield the sentences of a passage, each parsed with its subject named and without brackets."""
    sentences = ENGLISH.sentences(passage)
    resolved = resolve_subjects(sentences, topic, read)
    facts = [without_brackets(resolved.get(sentence, sentence)) for sentence in sentences]
    read.ahead(facts)
    yield from zip(sentences, map(read, facts), strict=True)


def _names(question: Any, focus: Focus) -> list[str]:
    """Return the names in a question that can be replaced by a description."""
    found = []
    for match in _NAME.finditer(question.text):
        name = match.group()
        span = question.char_span(*match.span())
        others = set(ENGLISH.content_words(question.text)) - set(ENGLISH.content_words(name))
        if span is None or name in focus.answer or set(tokens(name)) <= ENGLISH.stop_words:
            continue
        after = question[span.end] if span.end < len(question) else None
        before = question[span.start - 1].lower_ if span.start else ""
        part = after is not None and (after.tag_ == "POS" or after.pos_ in ("NOUN", "PROPN", "NUM"))
        part = part or (before not in ("the", "") and question[span.start - 1].pos_ in ("DET", "ADJ", "NOUN", "PROPN"))
        if not part and question.text.count(name) == 1 and len(others) >= _MIN_OTHER_WORDS:
            found.append(name)
    return sorted(found, key=lambda name: (-len(name), name))


def _descriptions(parsed: Any, name: str, sentence: str, *, asides_only: bool) -> Iterator[Link]:
    """Yield the descriptions of a name in a parsed sentence."""
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", parsed.text):
        span = parsed.char_span(*match.span())
        if span is None or any(child.i < span.start and child.lower_ != "the" for child in span.root.children):
            continue
        for child in span.root.children:
            inner = list(child.subtree)
            if child.i < span.end or parsed[inner[0].i - 1].text != ",":
                continue
            if child.dep_ == "appos" and child.pos_ == "NOUN":
                yield Link(name, sentence, "", _kind(child))
            elif child.dep_ == "relcl" and inner[0].lower_ in ("who", "which") and inner[0].dep_.startswith("nsubj"):
                yield Link(name, sentence, text_of(inner[1:]), _PERSON if inner[0].lower_ == "who" else "")
        for clause in clauses(parsed):
            verb = verb_of(clause.verb)
            if asides_only or verb is None or clause.subject.i != span.root.i or clause.subject.i > clause.verb.i:
                continue
            nouns = [child for child in clause.verb.children if child.dep_ == "attr" and child.pos_ == "NOUN"]
            if clause.verb.lemma_ == "be" and nouns:
                yield Link(name, sentence, "", _kind(nouns[0]))
            elif clause.verb.lemma_ != "be" or verb.rest:
                yield Link(name, sentence, f"{verb.declarative} {rest_of(clause, -1)}".strip())


def _kind(noun: Any) -> str:
    """Return a noun phrase without its article; empty if it has another determiner."""
    found = re.fullmatch(r"(?:an?|the) (.+)", leading(noun))
    return found[1] if found and noun.lemma_ not in VAGUE_NOUNS else ""


def _is_usable(linked: Link, answer: str, question: str) -> bool:
    text = f"{linked.kind} {linked.predicate}".strip()
    words = set(ENGLISH.content_words(text))
    return (
        len(tokens(text)) in _WORDS
        and len(words) >= _MIN_CONTENT_WORDS
        and not words.intersection(ENGLISH.content_words(question))
        and answer.casefold() not in text.casefold()
        and not words.intersection(ENGLISH.content_words(answer))
        and not ENGLISH.loose_pronouns(text)
        and not re.search(r"\w+sel(?:f|ves)\b", text)
        and not ENGLISH.context_reference.search(text)
        and not re.search(r"[()\[\]:;\"“”]", text)
    )


def _is_person(name: str, parsed_all: list[tuple[str, Any]]) -> bool:
    """Return whether another sentence with the name uses "he" or "she"; entity labels confuse persons and ships."""
    return any(
        name not in sentence and re.search(r"\b(?:[Hh]e|[Ss]he)\b", sentence) and name in parsed.text
        for sentence, parsed in parsed_all
    )


def describe(question: str, link: Link, kind: str) -> str | None:
    """Return the question with the name replaced by its description; None if the kind is unusable."""
    if link.kind:
        description = f"{link.kind} who {link.predicate}" if link.predicate else link.kind
    else:
        noun = re.sub(r"^(?:an?|the) ", "", " ".join(kind.split()).strip(" .,;\"'").lower())
        if not re.fullmatch(r"[a-z-]{3,}(?: [a-z-]{3,}){0,2}", noun):
            return None
        description = f"{noun} that {link.predicate}"
    return re.sub(rf"(?:\b[Tt]he )?{re.escape(link.name)}", lambda _: f"the {description}", question, count=1)
