"""Parsed sentences: their clauses, verbs and subjects, and the text of their parts.

Sentences and tokens are those of spaCy's English pipelines (Penn Treebank tags, ClearNLP dependencies, OntoNotes
entities).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from programs.text import tokens as split_words

TIMES = frozenset({"DATE", "TIME"})
PLACES = frozenset({"GPE", "LOC", "FAC"})
NAMING = frozenset({"compound", "poss", "nmod", "appos", "amod", "nummod", "prep"})  # modifiers that identify a noun
VAGUE_NOUNS = frozenset(
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
# Set by hand on samples from data/samples and 16 articles; not fitted.
_MAX_SUBJECT_WORDS = 14


class EnglishParser(Protocol):
    """Parses English sentences."""

    def __call__(self, sentence: str) -> Any:
        """Return a parsed sentence."""
        ...

    def ahead(self, sentences: Iterable[str]) -> None:
        """Parse and cache sentences in one batch."""
        ...


class Verb(NamedTuple):
    """A verb in a question, as two parts around the subject, and in a statement."""

    auxiliary: str
    rest: str
    declarative: str
    passive: bool = False


class Clause(NamedTuple):
    """A clause: the tokens of its verb and of the head of its subject."""

    verb: Any
    subject: Any


def clauses(sentence: Any) -> Iterator[Clause]:
    """Yield the main clause and those joined to it by conjunctions; the latter may share the first subject."""
    roots = [token for token in sentence if token.dep_ == "ROOT"]
    first, todo = None, roots if len(roots) == 1 else []
    while todo:
        verb = todo.pop(0)
        subjects = [child for child in verb.children if child.dep_ in _SUBJECTS and child.i < verb.i]
        if verb.pos_ not in ("VERB", "AUX") or len(subjects) > 1 or not (subjects or first):
            return
        subject = subjects[0] if subjects else first
        first = first or subject
        if subjects or verb.tag_ in _DO:  # "was sold and moved": verbs that share an auxiliary are skipped
            yield Clause(verb, subject)
        todo += [child for child in verb.children if child.dep_ == "conj"]


def path_to(token: Any, verb: Any) -> list[Any] | None:
    """Return the tokens from one up to a child of a verb; None if it does not depend on the verb."""
    found = []
    while token.i != verb.i:
        found.append(token)
        if token.head.i == token.i:
            return None
        token = token.head
    return found


def verb_of(verb: Any) -> Verb | None:
    """Return the parts of a finite verb with its auxiliaries; None if no question can be built from them."""
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
    times = {other.i for entity in token.doc.ents if entity.label_ in TIMES for other in entity}
    return bool(token.dep_ == "prt" and token.i == verb.i + 1 and token.i + 1 not in times)


def subject_of(subject: Any, title: str) -> str:
    """Return the words of a subject, or the title if the subject is a bare noun in it; empty for "it" or "such a"."""
    if subject.pos_ == "PRON":
        return ""
    tokens = _without_asides(subject)
    text = text_of(tokens)
    if len(tokens) > _MAX_SUBJECT_WORDS or tokens[0].lower_ in _POINTING:
        return ""
    first = tokens[0]
    plain = first.pos_ != "PROPN" and not first.ent_type_ and first.text[1:] == first.lower_[1:]
    if first.i == 0 and (plain or first.pos_ == "DET"):
        text = text[:1].lower() + text[1:]
    noun = re.fullmatch(r"the ([a-z]+)", text)
    is_title = noun and ":" not in title and noun[1] in split_words(title) and len(title.split()) < 7
    return title if is_title else text


def rest_of(clause: Clause, answer: int) -> str:
    """Return a clause without its subject, its verb and the phrase at index ``answer``."""
    before, after = [], []
    for child in clause.verb.children:
        if child.i == answer or child.dep_ in _LEFT_OUT or _after_dash(child, clause.verb):
            continue
        text = text_of(_without_asides(child))
        if child.i > clause.verb.i:
            after.append(text)
        elif child.dep_ in ("prep", "npadvmod"):
            before.append(text[:1].lower() + text[1:] if child.dep_ == "prep" else text)
    return " ".join([*after, *before])


def _after_dash(part: Any, verb: Any) -> bool:
    """Return whether a dash precedes a part of a clause: "sold ovens - its patents bought by others"."""
    return bool(part.left_edge.i > verb.i and part.doc[part.left_edge.i - 1].text in _DASHES)


def _without_asides(head: Any) -> list[Any]:
    """Return the tokens under a head, without asides between commas or brackets."""
    dropped: set[int] = set()
    for token in head.subtree:
        if token.dep_ in _ASIDES and token.i > head.i:
            inner = [other.i for other in token.subtree]
            before, after = head.doc[inner[0] - 1], head.doc[min(inner[-1] + 1, len(head.doc) - 1)]
            opens = before.text in (",", "(") or (before.text in _DASHES and head.doc[before.i - 1].whitespace_)
            closes = after.i > head.right_edge.i or (after.is_punct and after.text != ":")
            if opens and closes:
                dropped.update((before.i, *inner))
    return [token for token in head.subtree if token.i not in dropped]


def leading(head: Any) -> str:
    """Return the words under a head up to the first aside.

    Empty if they do not end at punctuation, because then the sentence was probably parsed wrongly.
    """
    tokens = _without_asides(head)
    gaps = [n for n in range(1, len(tokens)) if tokens[n].i != tokens[n - 1].i + 1]
    kept = tokens[: gaps[0]] if gaps else tokens
    return text_of(kept) if ends_at_punctuation(kept[-1]) else ""


def is_informative(tokens: Iterable[Any]) -> bool:
    """Return whether a phrase has more than one noun or adjective; other phrases are rarely good answers."""
    return sum(token.pos_ in ("NOUN", "PROPN", "ADJ") for token in tokens) > 1


def ends_at_punctuation(token: Any) -> bool:
    """Return whether a token is punctuation, or punctuation or the end of the sentence follows it."""
    return bool(token.is_punct or token.i + 1 >= len(token.doc) or token.doc[token.i + 1].is_punct)


def is_general(clause: Clause) -> bool:
    """Return whether a clause is a general statement, whose subject needs no name: "folded proteins can"."""
    subject, verb = clause.subject, clause.verb
    tense = next((token for token in verb.children if token.dep_ in ("aux", "auxpass") and token.i < verb.i), verb)
    kinds = subject.tag_ == "NNS" and not any(child.dep_ in ("det", "poss", "nummod") for child in subject.children)
    described = any(child.dep_ in ("amod", "compound") for child in subject.children)
    return kinds and described and tense.tag_ in ("VBZ", "VBP", "MD")


def is_bare(noun: Any) -> bool:
    """Return whether a noun has only an article, so that only its passage identifies it."""
    after = noun.doc[noun.i + 1 : noun.i + 2]
    joined = any(token.pos_ in ("NOUN", "PROPN", "NUM") for token in after)
    return not joined and not any(child.dep_ in NAMING or child.i < noun.i - 1 for child in noun.children)


def text_of(tokens: Iterable[Any]) -> str:
    """Return tokens as text, without surrounding punctuation."""
    joined = " ".join("".join(token.text_with_ws for token in tokens).split())
    text = re.sub(r"\s+([,.;)]|[’'](?!\w)|[’']s\b)", r"\1", joined).strip(" ,;:.–—")
    unclosed = text.count('"') % 2 and re.search(r'(?:^|\s)"[^"]*$', text)  # the closing quote is on another token
    return f'{text}"' if unclosed else text


def label_of(span: Any) -> str:
    """Return the label of the entity that contains the root of a span; empty if there is none."""
    return next((entity.label_ for entity in span.doc.ents if entity.start <= span.root.i < entity.end), "")
