"""What ties a name in a question to another sentence of the passage, for evolution ``reasoning``.

Read off the syntax of English sentences. Elsewhere a description that takes a name's place would have to agree with it
in gender and case.
"""

import re
from collections.abc import Iterator
from typing import Any

from programs.languages.base import Link
from programs.languages.en.antecedent import resolved
from programs.languages.en.syntax import SAYS_LITTLE, Read, clauses, leading, rest_of, text_of, verb_of
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import tokens, without_brackets
from programs.types import Focus

_NAME = re.compile(r"(?:[^\W\d_a-zß-ÿ][\w’'-]*)(?:(?: (?:of|the|and|von|der|de|du|del|la))* [^\W\d_a-zß-ÿ][\w’'-]*)*")
_WORDS = range(3, 15)
# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_FEWEST_CONTENT_WORDS = 3
_PERSON = "person"
_FEWEST_OTHER_WORDS = 2  # a question that asks only what a name is has no room for a description of it


def link(passage: str, topic: str, focus: Focus, question: str, read: Read) -> Link | None:
    """Return what ties a name in the question to a sentence of the passage, the longest name first.

    A sentence tells of a name that is its subject, or that a phrase or a clause with "who" or "which" follows. What it
    says must be understood alone and must not hold the answer; the sentence that is asked about counts only where
    what it says is an aside.
    """
    names = _names(read(question), focus)
    parsed_all = list(_parsed(passage, topic, read)) if names else []
    for name in names:
        for sentence, parsed in parsed_all:
            for linked in _said(parsed, name, sentence, aside=sentence == focus.sentence):
                if _describes(linked, focus.answer, question):
                    person = linked.predicate and _is_person(name, parsed_all)
                    return linked._replace(kind=_PERSON) if person else linked
    return None


def predicates(passage: str, topic: str, read: Read) -> list[Link]:
    """Return what the sentences of a passage say of names, where a kind has to be found for it."""
    found = [
        linked
        for sentence, parsed in _parsed(passage, topic, read)
        for name in dict.fromkeys(_NAME.findall(parsed.text))
        if any(token.pos_ == "PROPN" and token.text in name for token in parsed)
        for linked in _said(parsed, name, sentence, aside=False)
        if linked.predicate
        and not linked.kind
        and _describes(linked, "-", name)
        and not set(tokens(name)) <= ENGLISH.stop_words
    ]
    return list(dict.fromkeys(found))


def _parsed(passage: str, topic: str, read: Read) -> Iterator[tuple[str, Any]]:
    """Yield the sentences of a passage, each parsed with names for pronouns and without brackets."""
    sentences = ENGLISH.sentences(passage)
    alone = resolved(sentences, topic, read)
    facts = [without_brackets(alone.get(sentence, sentence)) for sentence in sentences]
    read.ahead(facts)
    yield from zip(sentences, map(read, facts), strict=True)


def _names(question: Any, focus: Focus) -> list[str]:
    """Return the names in a question that a description can take the place of."""
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
        if not part and question.text.count(name) == 1 and len(others) >= _FEWEST_OTHER_WORDS:
            found.append(name)
    return sorted(found, key=lambda name: (-len(name), name))


def _said(parsed: Any, name: str, sentence: str, *, aside: bool) -> Iterator[Link]:
    """Yield what a parsed sentence says of a name."""
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
            if aside or verb is None or clause.subject.i != span.root.i or clause.subject.i > clause.verb.i:
                continue
            nouns = [child for child in clause.verb.children if child.dep_ == "attr" and child.pos_ == "NOUN"]
            if clause.verb.lemma_ == "be" and nouns:
                yield Link(name, sentence, "", _kind(nouns[0]))
            elif clause.verb.lemma_ != "be" or verb.rest:
                yield Link(name, sentence, f"{verb.declarative} {rest_of(clause, -1)}".strip())


def _kind(noun: Any) -> str:
    """Return what a noun and its phrase say, without an article; nothing where another determiner counts or points."""
    found = re.fullmatch(r"(?:an?|the) (.+)", leading(noun))
    return found[1] if found and noun.lemma_ not in SAYS_LITTLE else ""


def _describes(linked: Link, answer: str, question: str) -> bool:
    said = f"{linked.kind} {linked.predicate}".strip()
    words, asked = ENGLISH.content_words(said), set(ENGLISH.content_words(question))
    return (
        len(tokens(said)) in _WORDS
        and len(set(words)) >= _FEWEST_CONTENT_WORDS
        and not asked.intersection(words)
        and answer.casefold() not in said.casefold()
        and not set(ENGLISH.content_words(answer)) & set(words)
        and not ENGLISH.loose_pronouns(said)
        and not re.search(r"\w+sel(?:f|ves)\b", said)
        and not ENGLISH.context_reference.search(said)
        and not re.search(r"[()\[\]:;\"“”]", said)
    )


def _is_person(name: str, parsed_all: list[tuple[str, Any]]) -> bool:
    """Return whether the passage calls the bearer of a name he or she; recognised persons may be ships."""
    return any(
        name not in sentence and re.search(r"\b(?:[Hh]e|[Ss]he)\b", sentence) and name in parsed.text
        for sentence, parsed in parsed_all
    )


def describe(question: str, link: Link, kind: str) -> str | None:
    """Return the question with the name replaced by its kind and what is said of it; None for a useless kind."""
    if link.kind:
        description = f"{link.kind} who {link.predicate}" if link.predicate else link.kind
    else:
        noun = re.sub(r"^(?:an?|the) ", "", " ".join(kind.split()).strip(" .,;\"'").lower())
        if not re.fullmatch(r"[a-z-]{3,}(?: [a-z-]{3,}){0,2}", noun):
            return None
        description = f"{noun} that {link.predicate}"
    return re.sub(rf"(?:\b[Tt]he )?{re.escape(link.name)}", lambda _: f"the {description}", question, count=1)
