"""Parsed English sentences: their clauses, verbs and subjects, and the text of their parts.

Sentences and tokens are those of spaCy's English pipelines (Penn Treebank tags, ClearNLP
dependencies, OntoNotes entities). The limits were set by hand on data/samples and 16 articles.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from groundset.programs.languages import ENGLISH
from groundset.programs.text import has_words, without_brackets
from groundset.programs.words import word_list

TIMES, PLACES = word_list("DATE TIME"), word_list("GPE LOC FAC")
# Modifiers that identify a noun.
_NAMING = word_list("compound poss nmod appos amod nummod prep")
_SUBJECTS, _AUXILIARIES = word_list("nsubj nsubjpass"), word_list("aux auxpass")
_ASIDES = word_list("relcl appos acl advcl prep")
_LEFT_OUT = (
    _SUBJECTS | _AUXILIARIES | word_list("neg punct cc conj prt mark advmod advcl parataxis expl")
)
_DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}
_POINTING = word_list("this that these those such both another other others")
_NEARLY_NOT = word_list("seldom rarely hardly barely scarcely never nearly almost")
_MAX_SUBJECT_WORDS, _MAX_NAME_WORDS = 14, 6
_GIVEN_NAME = r"\b[^\W\d_a-zß-ÿ][\w’'-]*"


class Verb(NamedTuple):
    """A verb in a question, as two parts around the subject, and in a statement."""

    auxiliary: str
    rest: str
    declarative: str


class Clause(NamedTuple):
    """A clause: the tokens of its verb and of the head of its subject."""

    verb: Any
    subject: Any


def clauses(sentence: Any) -> Iterator[Clause]:
    """Yield the main clause and those joined to it by conjunctions; the latter may share the first
    subject.
    """
    roots = [token for token in sentence if token.dep_ == "ROOT"]
    first, todo = None, roots if len(roots) == 1 else []
    while todo:
        verb = todo.pop(0)
        subjects = _before(verb, _SUBJECTS)
        if verb.pos_ not in ("VERB", "AUX") or len(subjects) > 1 or not (subjects or first):
            return
        subject = subjects[0] if subjects else first
        first = first or subject
        # "was sold and moved": verbs that share an auxiliary are skipped.
        if subjects or verb.tag_ in _DO:
            yield Clause(verb, subject)
        todo += [child for child in verb.children if child.dep_ == "conj"]


def has_child(token: Any, *dependencies: str) -> bool:
    """Return whether a token has a child with one of some dependencies."""
    return any(child.dep_ in dependencies for child in token.children)


def _before(verb: Any, dependencies: Collection[str]) -> list[Any]:
    return [child for child in verb.lefts if child.dep_ in dependencies]


def path_to(token: Any, verb: Any) -> list[Any] | None:
    """Return the tokens from one up to a child of a verb; None if it does not depend on it."""
    found = []
    while token.i != verb.i:
        found.append(token)
        if token.head.i == token.i:
            return None
        token = token.head
    return found


def verb_of(verb: Any) -> Verb | None:
    """Return the parts of a finite verb with its auxiliaries; None if no question can be built from
    them.
    """
    auxiliaries = _before(verb, _AUXILIARIES)
    negated = has_child(verb, "neg")
    times = {token.i for entity in verb.doc.ents if entity.label_ in TIMES for token in entity}
    # "took over" has a particle, "broke on 12 May" has none.
    after = verb.doc[verb.i + 1 : verb.i + 2]
    is_particle = any(each.dep_ == "prt" and each.head.i == verb.i for each in after)
    particle = f" {after.text}" if is_particle and verb.i + 2 not in times else ""
    if any(child.lower_ in _NEARLY_NOT for child in verb.children):
        return None
    if auxiliaries:
        first, *others = (token.lower_ for token in auxiliaries)
        rest = " ".join([*["not"] * negated, *others, verb.text]) + particle
        return Verb(first, rest, f"{first} {rest}")
    if negated or verb.tag_ not in _DO:
        return None
    if verb.lemma_ == "be":
        return Verb(verb.lower_, "", verb.lower_)
    return Verb(_DO[verb.tag_], verb.lemma_ + particle, verb.text + particle)


def subject_of(subject: Any) -> str:
    """Return the words of a subject; empty for "it" or "such a"."""
    if subject.pos_ == "PRON":
        return ""
    tokens = _without_asides(subject)
    text, first = text_of(tokens), tokens[0]
    if len(tokens) > _MAX_SUBJECT_WORDS or first.lower_ in _POINTING:
        return ""
    is_title = first.pos_ == "NOUN" and any(token.is_title for token in tokens[1:2])
    is_name = first.pos_ == "PROPN" or first.ent_type_ or is_title
    plain = not is_name and first.text[1:] == first.lower_[1:]
    if first.i == 0 and (plain or first.pos_ == "DET"):
        text = _uncapitalised(text)
    return text


def rest_of(clause: Clause, answer: int) -> str:
    """Return a clause without its subject, its verb and the phrase at index ``answer``."""
    verb = clause.verb
    before, after = [], []
    for child in verb.children:
        # "sold ovens, its patents bought by others": what stands apart is another matter.
        apart = child.i > verb.i and child.doc[child.left_edge.i - 1].text in (",", "–", "—")
        if child.i == answer or child.dep_ in _LEFT_OUT or (apart and child.dep_ != "prep"):
            continue
        text = text_of(_without_asides(child))
        if child.i > verb.i:
            after.append(text)
        elif child.dep_ in ("prep", "npadvmod"):
            before.append(_uncapitalised(text) if child.dep_ == "prep" else text)
    return " ".join([*after, *before])


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]


def _without_asides(head: Any) -> list[Any]:
    """Return the tokens under a head, without asides between commas or brackets."""
    dropped: set[int] = set()
    for token in head.subtree:
        if token.dep_ in _ASIDES and token.i > head.i:
            inner = [other.i for other in token.subtree]
            before, after = head.doc[inner[0] - 1], head.doc[min(inner[-1] + 1, len(head.doc) - 1)]
            opens = before.text in (",", "(")
            closes = after.i > head.right_edge.i or after.is_punct
            if opens and closes:
                dropped.update((before.i, *inner))
    return [token for token in head.subtree if token.i not in dropped]


def leading(head: Any) -> str:
    """Return the words under a head up to the first aside.

    Empty if they do not end at punctuation, because then the sentence was probably parsed wrongly.
    """
    tokens = _without_asides(head)
    first = tokens[0].i
    whole = [token for n, token in enumerate(tokens) if token.i == first + n]
    return text_of(whole) if ends_at_punctuation(whole[-1]) else ""


def is_informative(tokens: Iterable[Any]) -> bool:
    """Return whether a phrase has more than one noun or adjective; other phrases are rarely good
    answers.
    """
    return sum(token.pos_ in ("NOUN", "PROPN", "ADJ") for token in tokens) > 1


def ends_at_punctuation(token: Any) -> bool:
    """Return whether a token is punctuation, or that or the end of the sentence follows it."""
    return bool(token.is_punct or token.i + 1 >= len(token.doc) or token.doc[token.i + 1].is_punct)


def is_general(clause: Clause) -> bool:
    """Return whether a clause is a general statement, whose subject needs no name: "folded proteins
    can".
    """
    subject, verb = clause.subject, clause.verb
    tense = [*_before(verb, _AUXILIARIES), verb][0].tag_
    kinds = subject.tag_ == "NNS" and not has_child(subject, "det", "poss", "nummod")
    return kinds and has_child(subject, "amod", "compound") and tense in ("VBZ", "VBP", "MD")


def is_bare(noun: Any) -> bool:
    """Return whether a noun has only an article, so that only its passage identifies it."""
    after = noun.doc[noun.i + 1 : noun.i + 2]
    joined = any(token.pos_ in ("NOUN", "PROPN", "NUM") for token in after)
    return not joined and not any(
        child.dep_ in _NAMING or child.i < noun.i - 1 for child in noun.children
    )


def is_anchored(noun: Any) -> bool:
    """Return whether a noun is a name, or has a name or a year with it: "the mill of Orsle", but
    not "the mill".
    """
    if noun.pos_ == "PROPN":
        return not (_has_the(noun) and is_bare(noun))
    if noun.pos_ == "NUM":
        return len(noun.text) == len("1908")
    if any(character.isupper() for character in noun.text[1:]):
        return True
    named = [child for child in noun.children if child.dep_ in _NAMING]
    below = ([*child.children] if child.dep_ == "prep" else [child] for child in named)
    return any(map(is_anchored, chain.from_iterable(below)))


def text_of(tokens: Iterable[Any]) -> str:
    """Return tokens as text, without surrounding punctuation."""
    joined = " ".join("".join(token.text_with_ws for token in tokens).split())
    text = re.sub(r"\s+([,.;)]|[’'](?!\w)|[’']s\b)", r"\1", joined).strip(" ,;:.–—")
    # The closing quote is on another token.
    unclosed = text.count('"') % 2 and re.search(r'(?:^|\s)"[^"]*$', text)
    return f'{text}"' if unclosed else text


def label_of(span: Any) -> str:
    """Return the label of the entity that contains the root of a span; empty if there is none."""
    return next(
        (entity.label_ for entity in span.doc.ents if entity.start <= span.root.i < entity.end), ""
    )


def in_full(text: str, title: str, parsed: Any, passage: str) -> str:
    """Return words of a parsed sentence with names in full: the title for "the museum", the full
    name for a surname.

    Ambiguous names are not changed.
    """
    name = re.sub(r"^the ", "", without_brackets(title), flags=re.IGNORECASE)
    head = name.partition(" of ")[0].rpartition(" ")[2]
    alone = rf"(?i)(?<![\w-])the {re.escape(head)}(?![\w-])"
    known = has_words(text, name) or ":" in name or not 1 < len(name.split()) <= _MAX_NAME_WORDS
    nouns = (token for token in parsed if token.lower_ == head.lower() and _has_the(token))
    if not known and re.search(alone, text) and all(map(is_bare, nouns)):
        text = re.sub(alone, lambda _: f"the {name}", text, count=1)
    persons = (
        entity.text
        for entity in parsed.ents
        if entity.label_ == "PERSON" and len(entity) == 1
        if entity.root.dep_ != "compound" and not _has_the(entity.root)
    )
    for surname in dict.fromkeys(persons):
        runs = re.findall(
            rf"((?:{_GIVEN_NAME} )+){re.escape(surname)}\b(?! [A-Z])", f"{title}\n{passage}"
        )
        found = (
            [word for word in run.split() if word.casefold() not in ENGLISH.stop_words]
            for run in runs
        )
        given = list(filter(None, found))
        if len({words[-1] for words in given}) != 1 or len(given[0]) >= _MAX_NAME_WORDS:
            continue
        if not has_words(text, f"{given[0][-1]} {surname}"):
            full = " ".join([*given[0], surname])
            text = re.sub(rf"(?<![\w’'-]){re.escape(surname)}(?![\w-])", full, text, count=1)
    return text


def _has_the(token: Any) -> bool:
    return bool(token.i and token.nbor(-1).lower_ == "the")
