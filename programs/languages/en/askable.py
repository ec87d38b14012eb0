"""What a parsed English sentence can be asked, and the words that the question is made of.

Small models write a good sentence but choose the wrong question word, or two verbs, in every second question. So the
order of words is read off the syntax: question word, auxiliary, subject, verb, and what else the clause says. After
Heilman and Smith, "Good Question! Statistical Ranking for Question Generation" (2010): many candidates by rule, then
a critic that chooses.
"""

import re
from collections.abc import Iterator
from typing import Any

from programs.languages.base import Askable
from programs.languages.en.antecedent import in_full
from programs.languages.en.explained import explained
from programs.languages.en.syntax import (
    NAMING,
    PLACES,
    TIMES,
    Clause,
    Verb,
    clauses,
    is_bare,
    is_general,
    label_of,
    path_to,
    rest_of,
    subject_of,
    tells,
    text_of,
    verb_of,
)
from programs.languages.en.words import WORDS as ENGLISH
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


_OF_NUMBERS = frozenset({"nummod", "compound", "quantmod"})
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY"})
_OF_AMOUNTS = frozenset({"after", "for", "within", "over", "by"})
_BY_LABEL = {"ORG": "Which organization", "GPE": "Which place", "LOC": "Which place"}
_THINGS = frozenset({"PRODUCT", "WORK_OF_ART", "FAC", "LAW", "EVENT"})
_PARTS_OF_A_YEAR = rf"{ENGLISH.months}|spring|summer|autumn|winter"
_TITLE = r"(?:Mr|Mrs|Ms|Dr|Sir|Lady|Lord|Professor|President|Councillor|Senator|Judge|Captain|General)\b"
_ASKS_OF_WHAT = r"What percentage|How many (?:hundred|thousand|million|billion)"  # the rest of the clause does not say
_LOOSE = frozenset({"no", "same", "such", "other", "another", "own", "few", "many", "more", "several"})
# Set by hand while samples of data/samples and of 16 articles of several kinds were read; fitted to nothing.
_WORDS = range(5, 31)
_DEFINITION_WORDS = range(3, 31)
_MOST_TITLE_WORDS = 4  # words of a subject beside the name in it: "the zoo director Ann Moor"


def askable(sentence: Any, topic: str, passage: str = "") -> list[Askable]:
    """Return what a parsed sentence can be asked, the most promising first.

    Args:
        sentence: a spaCy document of one English sentence, with tags, dependencies and entities.
        topic: title and headings; the title stands in for a bare noun such as "the museum".
        passage: what the sentence is from; it tells the whole names of persons.
    """
    title = title_of(topic)
    known = set(title.casefold().split())
    found: dict[str, Askable] = {}
    for answer in _answers(sentence):
        words = answer.casefold().split()
        if not 0 < len(words) < 10 or known.issuperset(words) or re.fullmatch(r"\d{1,3}", answer):
            continue
        asked = _ask(sentence, answer, topic, passage)
        if asked is not None and _sound(asked) and not any(asked.answer in other for other in found):
            found[asked.answer] = asked
    for each in explained(sentence, title):
        text, is_named = named(each.opening, each.clause, topic, passage, defines=each.defines)
        asked = Askable(each.answer, text, each.worth, is_named, each.defines)
        if asked.answer not in found and _sound(asked, _DEFINITION_WORDS):
            found[asked.answer] = asked
    return sorted(found.values(), key=lambda asked: (-asked.worth, asked.answer))


def _answers(sentence: Any) -> Iterator[str]:
    """Yield dates, amounts, names and objects; a bare number goes with the noun that it counts."""
    objects = [
        chunk
        for chunk in sentence.noun_chunks
        if chunk.root.dep_ == "dobj" and not any(token.pos_ == "PRON" or token.lower_ in _LOOSE for token in chunk)
    ]
    counted = []
    for entity in sentence.ents:
        noun = entity.root.head
        if entity.label_ == "CARDINAL" and entity.root.dep_ == "nummod" and noun.i == entity.end:
            counted.append(sentence[entity.start : noun.i + 1].text)
    entities = [entity.text for entity in sentence.ents if entity.label_ != "ORDINAL"]
    bare = r"^(?:about|some|nearly|almost|only|over|around|the|an?) "
    seen = (*ENGLISH.spans(sentence.text), *counted, *entities, *(chunk.text for chunk in objects))
    yield from dict.fromkeys(re.sub(bare, "", text, flags=re.IGNORECASE) for text in seen)


def _sound(asked: Askable, words: range = _WORDS) -> bool:
    text = asked.opening
    return (
        len(text.split()) in words
        and not ENGLISH.context_reference.search(text)
        and not ENGLISH.loose_pronouns(text)
        and not re.search(r"[()\[\]]|[:;] [a-z]|(?<!and), (?:that|which|who)\b", text)
        and asked.answer.casefold() not in text.casefold()
        and not re.search(r"[()\[\]]", asked.answer)
    )


def _ask(sentence: Any, answer: str, topic: str, passage: str) -> Askable | None:
    start = sentence.text.find(answer)
    span = sentence.char_span(start, start + len(answer), alignment_mode="strict") if start >= 0 else None
    if span is None:
        return None
    for clause in clauses(sentence):
        path = path_to(span.root, clause.verb)
        verb = verb_of(clause.verb)
        if verb is None or not path or any(token.pos_ in ("VERB", "AUX") for token in path):
            continue
        of_subject = path[-1].i == clause.subject.i
        if of_subject:
            asked = _of_subject(clause, verb, span, path, answer)
        else:
            asked = _of_rest(clause, verb, span, path, answer, title_of(topic))
        if asked is None:
            return None
        words, worth = asked
        text, is_named = named(words, clause, topic, passage, subject_is_asked_for=of_subject)
        return Askable(answer, text, worth, is_named)
    return None


def _of_subject(clause: Clause, verb: Verb, span: Any, path: list[Any], answer: str) -> tuple[str, float] | None:
    """Ask for the subject: "Who registered mozilla.org"."""
    within = len(path) == 1 or (len(path) == 2 and path[0].dep_ in _OF_NUMBERS)
    extra = sum(1 for _ in clause.subject.subtree) - len(span)
    label = label_of(span)
    if not within or extra > _MOST_TITLE_WORDS or label in TIMES:
        return None
    word = _form(span, answer) or _asks_for(span, label, answer)
    if clause.verb.lemma_ == "be" and word != "Who":
        return None
    if not word or re.match(_ASKS_OF_WHAT, word):
        return None
    worth = 1.7 if word == "Who" else 1.0
    rest = rest_of(clause, -1)
    return (f"{word} {verb.declarative} {rest}", worth) if rest else None


def _of_rest(
    clause: Clause, verb: Verb, span: Any, path: list[Any], answer: str, title: str
) -> tuple[str, float] | None:
    """Ask for an object, a time, a place or an amount: "In which year did Mozilla promote Brendan Eich"."""
    subject, top, label, form = subject_of(clause.subject, title), path[-1], label_of(span), _form(span, answer)
    if not subject or subject[0].isdigit() or (top.i < clause.verb.i and top.dep_ not in ("prep", "npadvmod")):
        return None
    said = f"{verb.auxiliary} {subject} {verb.rest} {rest_of(clause, top.i)}"
    dependencies = [token.dep_ for token in path]
    if dependencies[-1] == "prep" and top.text.casefold() in _OF_AMOUNTS and form.startswith("How many "):
        return (f"{top.text.capitalize()} h{form[1:]} {said}", 1.2) if len(path) < 4 else None
    of_time = label in TIMES or form in ("In which year", "On what date")
    if of_time:
        word = "" if re.search(r"\btimes\b", said) else _asks_when(span, top, dependencies, form, answer)
        return (f"{word} {said}", 1.6) if word else None
    counts = len(path) == 2 and dependencies[0] in _OF_NUMBERS
    if dependencies[-1] in ("dobj", "attr") and (len(path) == 1 or counts):
        return _of_object(span, top, said, label, form)
    preposition = top.text.casefold()
    if dependencies == ["pobj", "prep"] and label in PLACES and preposition in ("in", "at", "to", "into"):
        return f"Where {said}", 1.3
    if dependencies == ["pobj", "agent"] and verb.passive and label in ("PERSON", "ORG") and not _is_listed(span):
        return f"By {'whom' if label == 'PERSON' else 'which organization'} {said}", 1.5
    return None


def _of_object(span: Any, top: Any, said: str, label: str, form: str) -> tuple[str, float] | None:
    if form:
        of_what = text_of(token for token in top.subtree if token.i >= span.end and token.i > top.i)
        others = any(child.dep_ in ("dobj", "attr") and child.i != top.i for child in top.head.children)
        if others or re.match(_ASKS_OF_WHAT, form) or (top.dep_ == "attr" and form != "How much"):
            return None
        return (f"{form} {of_what} {said}" if of_what.startswith("of ") else f"{form} {said}"), 1.5
    answered = range(span.start, span.end)
    extra = [token for token in top.subtree if token.dep_ not in ("det", "punct") and token.i not in answered]
    joined = any(child.dep_ == "conj" for child in top.children)
    if joined or top.dep_ == "attr" or label in _AMOUNTS or len(extra) > 1 or not tells(span):
        return None  # "What is X" asks for anything
    return f"{'Who' if label == 'PERSON' else 'What'} {said}", 0.9


def _asks_when(span: Any, top: Any, dependencies: list[str], form: str, answer: str) -> str:
    """Return the words that ask for a point in time; nothing for a period or one of several times."""
    allowed = {"pobj", "prep", "npadvmod", *_OF_NUMBERS}
    if not allowed.issuperset(dependencies) or len(dependencies) > 2 or dependencies[-1] not in ("prep", "npadvmod"):
        return ""
    if top.dep_ == "prep" and top.text.casefold() not in ("in", "on", "at", "during"):
        return ""
    after = span.doc[span.end].text.casefold() if span.end < len(span.doc) else ""
    if after in ("to", "until", "and", "or", "–", "-") or any(child.dep_ == "conj" for child in span.root.children):
        return ""
    if form in ("In which year", "On what date"):
        return form
    if re.search(rf"\b\d{{4}}\b|century|{_PARTS_OF_A_YEAR}", answer):
        return "When"
    return "At what time" if re.fullmatch(r"\d{1,2}[:.]\d\d(?: ?[ap]\.?m\.?)?", answer) else ""


def _asks_for(span: Any, label: str, answer: str) -> str:
    if re.match(_TITLE, answer) or (label == "PERSON" and len(answer.split()) > 1):
        return "Who"
    if label in _AMOUNTS or label == "PERSON":
        return ""
    if label in _BY_LABEL:  # a single word is too often no organization at all
        return _BY_LABEL[label] if len(answer.split()) > 1 or label != "ORG" else ""
    return "What" if label in _THINGS or (span.root.pos_ != "PROPN" and tells(span)) else ""


def _is_listed(span: Any) -> bool:
    """Return whether a name is the first of several."""
    after = span.doc[span.end : span.end + 2]
    return len(after) == 2 and after[0].text in (",", "and", "&") and after[1].pos_ == "PROPN"


def _form(span: Any, answer: str) -> str:
    """Return the question words that the answer's form gives; a number in words counts the noun after it."""
    begins = ENGLISH.opening(answer)
    if span[-1].tag_ == "NN" and re.match(r"\d+ ", answer) and begins.startswith("How many "):
        return ""  # "1947 cookbook"
    counts = len(span) > 1 and span[-1].tag_ == "NNS" and all(token.pos_ == "NUM" for token in span[:-1])
    return begins or (f"How many {span[-1].text}" if counts else "")
