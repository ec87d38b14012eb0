"""Reading a parsed sentence: its clauses, their verbs and subjects, and the text of their parts.

Sentences and tokens are spaCy's, with the labels of its English pipelines (Penn Treebank tags, ClearNLP dependencies,
OntoNotes entities).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from programs.text import tokens as split_words

TIMES = frozenset({"DATE", "TIME"})
PLACES = frozenset({"GPE", "LOC", "FAC"})
NAMING = frozenset({"compound", "poss", "nmod", "appos", "amod", "nummod", "prep"})  # what says which one is meant
SAYS_LITTLE = frozenset(  # nouns that take their meaning from what stands beside them
    {
        *("advantage", "aim", "case", "concern", "drawback", "example", "fact", "goal", "issue", "kind", "limitation"),
        *("lot", "matter", "number", "one", "part", "point", "problem", "question", "reason", "result", "subject"),
        *("thing", "way"),
    }
)
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_ASIDES = frozenset({"relcl", "appos", "acl", "advcl", "prep"})
_LEFT_OUT = frozenset(
    {*_SUBJECTS, "aux", "auxpass", "neg", "punct", "cc", "conj", "prt", "mark", "advmod", "advcl", "parataxis", "expl"}
)
_DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}
_NEARLY_NOT = frozenset({"seldom", "rarely", "hardly", "barely", "scarcely", "never", "nearly", "almost"})
_POINTING = frozenset({"this", "that", "these", "those", "such", "both", "another", "other", "others"})
_DASHES = ("–", "—")
# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_MOST_SUBJECT_WORDS = 14


class Read(Protocol):
    """Parses English sentences."""

    def __call__(self, sentence: str) -> Any:
        """Return a sentence as it was parsed."""
        ...

    def ahead(self, sentences: Iterable[str]) -> None:
        """Parse sentences in one batch, before they are asked for one by one."""
        ...


class Verb(NamedTuple):
    """A verb as a question has it, in two parts around the subject, and as a statement has it."""

    auxiliary: str
    rest: str
    declarative: str
    passive: bool = False


class Clause(NamedTuple):
    """A clause: the token of its verb and the one at the head of its subject."""

    verb: Any
    subject: Any


def clauses(sentence: Any) -> Iterator[Clause]:
    """Yield the main clause and those joined to it; one without a subject of its own has the first one's."""
    roots = [token for token in sentence if token.dep_ == "ROOT"]
    first, todo = None, roots if len(roots) == 1 else []
    while todo:
        verb = todo.pop(0)
        own = [child for child in verb.children if child.dep_ in _SUBJECTS and child.i < verb.i]
        if verb.pos_ not in ("VERB", "AUX") or len(own) > 1 or not (own or first):
            return
        subject = own[0] if own else first
        first = first or subject
        if own or verb.tag_ in _DO:  # "was sold and moved": the second verb borrows its auxiliary, so it is left out
            yield Clause(verb, subject)
        todo += [child for child in verb.children if child.dep_ == "conj"]


def path_to(token: Any, verb: Any) -> list[Any] | None:
    """Return the tokens from one up to below a verb; None if it does not depend on the verb."""
    found = []
    while token.i != verb.i:
        found.append(token)
        if token.head.i == token.i:
            return None
        token = token.head
    return found


def verb_of(verb: Any) -> Verb | None:
    """Return the parts of a finite verb with its auxiliaries; None where they do not tell how to ask."""
    auxiliaries = [child for child in verb.children if child.dep_ in ("aux", "auxpass") and child.i < verb.i]
    negated = any(child.dep_ == "neg" for child in verb.children)
    particle = "".join(f" {child.text}" for child in verb.children if _is_particle(child, verb))
    if any(child.lower_ in _NEARLY_NOT for child in verb.children):
        return None
    if auxiliaries:
        first, *others = (token.text.lower() for token in auxiliaries)
        rest = " ".join([*(["not"] if negated else []), *others, verb.text]) + particle
        return Verb(first, rest, f"{first} {rest}", any(token.dep_ == "auxpass" for token in auxiliaries))
    if negated or verb.tag_ not in _DO:
        return None
    if verb.lemma_ == "be":
        return Verb(verb.text.lower(), "", verb.text.lower())
    return Verb(_DO[verb.tag_], verb.lemma_ + particle, verb.text + particle)


def _is_particle(token: Any, verb: Any) -> bool:
    """Return whether a token belongs to the verb before it ("took over") and not to a date ("broke on 12 May")."""
    times = {each.i for entity in token.doc.ents if entity.label_ in TIMES for each in entity}
    return bool(token.dep_ == "prt" and token.i == verb.i + 1 and token.i + 1 not in times)


def subject_of(subject: Any, title: str) -> str:
    """Return the words of a subject, the title for a bare noun that is part of it; nothing for "it" or "such a"."""
    if subject.pos_ == "PRON":
        return ""
    tokens = _without_asides(subject)
    text = text_of(tokens)
    if len(tokens) > _MOST_SUBJECT_WORDS or tokens[0].lower_ in _POINTING:
        return ""
    first = tokens[0]
    plain = first.pos_ != "PROPN" and not first.ent_type_ and first.text[1:] == first.lower_[1:]
    if first.i == 0 and (plain or first.pos_ == "DET"):
        text = text[:1].lower() + text[1:]
    noun = re.fullmatch(r"the ([a-z]+)", text)
    stands_for = noun and ":" not in title and noun[1] in split_words(title) and len(title.split()) < 7
    return title if stands_for else text


def rest_of(clause: Clause, answered: int) -> str:
    """Return what the clause says beside subject, verb and the phrase at ``answered``, which is asked for."""
    before, after = [], []
    for child in clause.verb.children:
        if child.i == answered or child.dep_ in _LEFT_OUT or _after_dash(child, clause.verb):
            continue
        text = text_of(_without_asides(child))
        if child.i > clause.verb.i:
            after.append(text)
        elif child.dep_ in ("prep", "npadvmod"):
            before.append(text[:1].lower() + text[1:] if child.dep_ == "prep" else text)
    return " ".join([*after, *before])


def _after_dash(part: Any, verb: Any) -> bool:
    """Return whether a dash sets a part of a clause off from its verb: "sold ovens - its patents bought by others"."""
    return bool(part.left_edge.i > verb.i and part.doc[part.left_edge.i - 1].text in _DASHES)


def _without_asides(head: Any) -> list[Any]:
    """Return the tokens under a head, without what commas or brackets set off."""
    dropped: set[int] = set()
    for token in head.subtree:
        if token.dep_ in _ASIDES and token.i > head.i:
            inner = [each.i for each in token.subtree]
            before, after = head.doc[inner[0] - 1], head.doc[min(inner[-1] + 1, len(head.doc) - 1)]
            opens = before.text in (",", "(") or (before.text in _DASHES and head.doc[before.i - 1].whitespace_)
            closes = after.i > head.right_edge.i or (after.is_punct and after.text != ":")
            if opens and closes:
                dropped.update((before.i, *inner))
    return [token for token in head.subtree if token.i not in dropped]


def leading(head: Any) -> str:
    """Return the words under a head in a row, up to the first sign that sets something off.

    Nothing if they break off elsewhere: what is read wrongly ends in the middle of a phrase.
    """
    tokens = _without_asides(head)
    gaps = [place for place in range(1, len(tokens)) if tokens[place].i != tokens[place - 1].i + 1]
    kept = tokens[: gaps[0]] if gaps else tokens
    return text_of(kept) if ends_at_sign(kept[-1]) else ""


def tells(tokens: Iterable[Any]) -> bool:
    """Return whether a phrase has more than one noun or adjective; hardly anything else but a name is an answer."""
    return sum(token.pos_ in ("NOUN", "PROPN", "ADJ") for token in tokens) > 1


def ends_at_sign(token: Any) -> bool:
    """Return whether a sign or the end of the sentence follows a token, or it is one."""
    return bool(token.is_punct or token.i + 1 >= len(token.doc) or token.doc[token.i + 1].is_punct)


def is_general(clause: Clause) -> bool:
    """Return whether a clause speaks of things of a kind, so that its subject needs no name: "folded proteins can"."""
    subject, verb = clause.subject, clause.verb
    tense = next((token for token in verb.children if token.dep_ in ("aux", "auxpass") and token.i < verb.i), verb)
    kinds = subject.tag_ == "NNS" and not any(child.dep_ in ("det", "poss", "nummod") for child in subject.children)
    described = any(child.dep_ in ("amod", "compound") for child in subject.children)
    return kinds and described and tense.tag_ in ("VBZ", "VBP", "MD")


def is_bare(noun: Any) -> bool:
    """Return whether nothing but an article stands with a noun, so that only its passage says which one is meant."""
    after = noun.doc[noun.i + 1 : noun.i + 2]
    joined = any(token.pos_ in ("NOUN", "PROPN", "NUM") for token in after)
    return not joined and not any(child.dep_ in NAMING or child.i < noun.i - 1 for child in noun.children)


def text_of(tokens: Iterable[Any]) -> str:
    """Return tokens as running text, without the signs around it."""
    joined = " ".join("".join(token.text_with_ws for token in tokens).split())
    text = re.sub(r"\s+([,.;)]|[’'](?!\w)|[’']s\b)", r"\1", joined).strip(" ,;:.–—")
    left_open = text.count('"') % 2 and re.search(r'(?:^|\s)"[^"]*$', text)  # the sign hangs on another word
    return f'{text}"' if left_open else text


def label_of(span: Any) -> str:
    """Return what kind of name, time or amount a span is part of; nothing if it is none."""
    return next((entity.label_ for entity in span.doc.ents if entity.start <= span.root.i < entity.end), "")
