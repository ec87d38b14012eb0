"""Questions about a parsed English sentence: answers, and the beginnings of questions for them.

Small models use a wrong question word or two verbs in half of their questions. So the word order is taken from the
syntax: question word, auxiliary, subject, verb, rest of the clause. Like Heilman and Smith, "Good Question! Statistical
Ranking for Question Generation" (2010), rules generate many candidates, and a critic ranks them.
"""

import re
from collections.abc import Iterator
from typing import Any

from programs.languages.base import Askable
from programs.languages.en.antecedent import in_full
from programs.languages.en.explained import explanations
from programs.languages.en.syntax import (
    NAMING,
    PLACES,
    TIMES,
    Clause,
    Verb,
    clauses,
    is_bare,
    is_general,
    is_informative,
    label_of,
    path_to,
    rest_of,
    subject_of,
    text_of,
    verb_of,
)
from programs.languages.en.words import WORDS as ENGLISH
from programs.text import has_words, title_of, tokens, without_brackets

_PERSONAL = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)


def with_full_names(
    words: str, clause: Clause, topic: str, passage: str, *, subject_is_asked_for: bool = False, defines: bool = False
) -> tuple[str, bool]:
    """Return the words of a question with names in full, and whether they are clear without the passage.

    The title or a name must identify the subject, unless the sentence is a general statement. Abbreviations ("the CDP")
    do not count, nor do single names that are not in title or headings.

    Args:
        words: the words of the question.
        clause: the clause that they are from.
        topic: title and headings, joined as in :class:`programs.types.Chunk`.
        passage: the passage that contains the sentence.
        subject_is_asked_for: whether the question asks for the subject of the clause.
        defines: whether it asks for a definition of the subject.
    """
    sentence, subject = clause.verb.doc, clause.subject
    title = title_of(topic)
    text = without_brackets(" ".join(words.split()))
    full = in_full(text, title, sentence, passage)
    if _is_glued(text, clause.verb) or (defines and text.startswith("Who ") and not _PERSONAL.search(passage)):
        return full, False
    if is_general(clause) or (title and has_words(full, title)):
        return full, True
    if not (subject_is_asked_for or defines):
        single = subject.pos_ == "PROPN" and is_bare(subject) and full == text
        if (single and subject.text.casefold() not in tokens(topic)) or not is_anchored(subject):
            return full, False
    question_words = set(full.split())
    names = (token.text for token in sentence if token.pos_ == "PROPN" and token.text in question_words)
    return full, any(name[:1].isupper() and not name.isupper() for name in names)


def is_anchored(noun: Any) -> bool:
    """Return whether a noun is a name, or has a name or a year with it: "the mill of Orsle", but not "the mill"."""
    if noun.pos_ == "PROPN":
        return noun.i == 0 or noun.nbor(-1).lower_ != "the" or not is_bare(noun)
    if noun.pos_ == "NUM":
        return len(noun.text) == len("1908")
    if any(character.isupper() for character in noun.text[1:]):
        return True
    for child in noun.children:
        below = child.children if child.dep_ == "prep" else [child] if child.dep_ in NAMING else []
        if any(is_anchored(token) for token in below):
            return True
    return False


def _is_glued(text: str, verb: Any) -> bool:
    """Return whether words are adjacent that a comma separates in the sentence: "over the terrace the Brine End"."""
    after_commas = (token for token in verb.doc[verb.i + 1 :] if token.nbor(-1).text == "," and token.dep_ != "prep")
    words = [token.text for token in verb.doc]
    return any(
        words.count(token.text) == 1 and re.search(rf"\w {re.escape(token.text)}(?!\w)", text) for token in after_commas
    )


_NUMBER_MODIFIERS = frozenset({"nummod", "compound", "quantmod"})
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY"})
_AMOUNT_PREPOSITIONS = frozenset({"after", "for", "within", "over", "by"})
_BY_LABEL = {"ORG": "Which organization", "GPE": "Which place", "LOC": "Which place"}
_THINGS = frozenset({"PRODUCT", "WORK_OF_ART", "FAC", "LAW", "EVENT"})
_PARTS_OF_A_YEAR = rf"{ENGLISH.months}|spring|summer|autumn|winter"
_TITLE = r"(?:Mr|Mrs|Ms|Dr|Sir|Lady|Lord|Professor|President|Councillor|Senator|Judge|Captain|General)\b"
_INCOMPLETE = r"What percentage|How many (?:hundred|thousand|million|billion)"  # they lack "of what"
_LOOSE = frozenset({"no", "same", "such", "other", "another", "own", "few", "many", "more", "several"})
# Set by hand on samples from data/samples and 16 articles; not fitted.
_WORDS = range(5, 31)
_DEFINITION_WORDS = range(3, 31)
_MAX_TITLE_WORDS = 4  # words of a subject beside the name in it: "the zoo director Ann Moor"


def askable(sentence: Any, topic: str, passage: str = "") -> list[Askable]:
    """Return the possible questions about a parsed sentence, the most promising first.

    Args:
        sentence: a spaCy document of one English sentence, with tags, dependencies and entities.
        topic: title and headings; the title replaces a bare noun such as "the museum".
        passage: the passage that contains the sentence, for the full names of persons.
    """
    title = title_of(topic)
    known = set(title.casefold().split())
    found: dict[str, Askable] = {}
    for answer in _answers(sentence):
        words = answer.casefold().split()
        if not 0 < len(words) < 10 or known.issuperset(words) or re.fullmatch(r"\d{1,3}", answer):
            continue
        one = _ask(sentence, answer, topic, passage)
        if one is not None and _is_well_formed(one) and not any(one.answer in other for other in found):
            found[one.answer] = one
    for explanation in explanations(sentence, title):
        defines = explanation.defines
        text, is_named = with_full_names(explanation.opening, explanation.clause, topic, passage, defines=defines)
        one = Askable(explanation.answer, text, explanation.score, is_named, defines)
        if one.answer not in found and _is_well_formed(one, _DEFINITION_WORDS):
            found[one.answer] = one
    return sorted(found.values(), key=lambda one: (-one.score, one.answer))


def _answers(sentence: Any) -> Iterator[str]:
    """Yield dates, amounts, names and objects; a bare number includes the noun that it counts."""
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
    candidates = (*ENGLISH.spans(sentence.text), *counted, *entities, *(chunk.text for chunk in objects))
    yield from dict.fromkeys(re.sub(bare, "", text, flags=re.IGNORECASE) for text in candidates)


def _is_well_formed(askable: Askable, words: range = _WORDS) -> bool:
    text, answer = askable.opening, askable.answer
    return (
        len(text.split()) in words
        and not ENGLISH.context_reference.search(text)
        and not ENGLISH.loose_pronouns(text)
        and not re.search(r"[()\[\]]|[:;] [a-z]|(?<!and), (?:that|which|who)\b", text)
        and answer.casefold() not in text.casefold()
        and not re.search(r"[()\[\]]", answer)
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
        is_subject = path[-1].i == clause.subject.i
        if is_subject:
            question = _ask_for_subject(clause, verb, span, path, answer)
        else:
            question = _ask_for_rest(clause, verb, span, path, answer, title_of(topic))
        if question is None:
            return None
        words, score = question
        text, is_named = with_full_names(words, clause, topic, passage, subject_is_asked_for=is_subject)
        return Askable(answer, text, score, is_named)
    return None


def _ask_for_subject(clause: Clause, verb: Verb, span: Any, path: list[Any], answer: str) -> tuple[str, float] | None:
    """Ask for the subject: "Who registered mozilla.org"."""
    within = len(path) == 1 or (len(path) == 2 and path[0].dep_ in _NUMBER_MODIFIERS)
    extra = sum(1 for _ in clause.subject.subtree) - len(span)
    label = label_of(span)
    if not within or extra > _MAX_TITLE_WORDS or label in TIMES:
        return None
    word = _question_words(span, answer) or _subject_word(span, label, answer)
    if clause.verb.lemma_ == "be" and word != "Who":
        return None
    if not word or re.match(_INCOMPLETE, word):
        return None
    score = 1.7 if word == "Who" else 1.0
    rest = rest_of(clause, -1)
    return (f"{word} {verb.declarative} {rest}", score) if rest else None


def _ask_for_rest(
    clause: Clause, verb: Verb, span: Any, path: list[Any], answer: str, title: str
) -> tuple[str, float] | None:
    """Ask for an object, a time, a place or an amount: "In which year did Mozilla promote Brendan Eich"."""
    subject, top, label, form = (
        subject_of(clause.subject, title),
        path[-1],
        label_of(span),
        _question_words(span, answer),
    )
    if not subject or subject[0].isdigit() or (top.i < clause.verb.i and top.dep_ not in ("prep", "npadvmod")):
        return None
    rest = f"{verb.auxiliary} {subject} {verb.rest} {rest_of(clause, top.i)}"
    dependencies = [token.dep_ for token in path]
    if dependencies[-1] == "prep" and top.text.casefold() in _AMOUNT_PREPOSITIONS and form.startswith("How many "):
        return (f"{top.text.capitalize()} h{form[1:]} {rest}", 1.2) if len(path) < 4 else None
    if label in TIMES or form in ("In which year", "On what date"):
        word = "" if re.search(r"\btimes\b", rest) else _time_words(span, top, dependencies, form, answer)
        return (f"{word} {rest}", 1.6) if word else None
    counts = len(path) == 2 and dependencies[0] in _NUMBER_MODIFIERS
    if dependencies[-1] in ("dobj", "attr") and (len(path) == 1 or counts):
        return _ask_for_object(span, top, rest, label, form)
    preposition = top.text.casefold()
    if dependencies == ["pobj", "prep"] and label in PLACES and preposition in ("in", "at", "to", "into"):
        return f"Where {rest}", 1.3
    if dependencies == ["pobj", "agent"] and verb.passive and label in ("PERSON", "ORG") and not _is_listed(span):
        return f"By {'whom' if label == 'PERSON' else 'which organization'} {rest}", 1.5
    return None


def _ask_for_object(span: Any, top: Any, rest: str, label: str, form: str) -> tuple[str, float] | None:
    if form:
        of_what = text_of(token for token in top.subtree if token.i >= span.end and token.i > top.i)
        others = any(child.dep_ in ("dobj", "attr") and child.i != top.i for child in top.head.children)
        if others or re.match(_INCOMPLETE, form) or (top.dep_ == "attr" and form != "How much"):
            return None
        return (f"{form} {of_what} {rest}" if of_what.startswith("of ") else f"{form} {rest}"), 1.5
    answered = range(span.start, span.end)
    extra = [token for token in top.subtree if token.dep_ not in ("det", "punct") and token.i not in answered]
    joined = any(child.dep_ == "conj" for child in top.children)
    if joined or top.dep_ == "attr" or label in _AMOUNTS or len(extra) > 1 or not is_informative(span):
        return None  # "What is X" is too vague
    return f"{'Who' if label == 'PERSON' else 'What'} {rest}", 0.9


def _time_words(span: Any, top: Any, dependencies: list[str], form: str, answer: str) -> str:
    """Return the question words for a point in time; empty for a period or one of several times."""
    allowed = {"pobj", "prep", "npadvmod", *_NUMBER_MODIFIERS}
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


def _subject_word(span: Any, label: str, answer: str) -> str:
    if re.match(_TITLE, answer) or (label == "PERSON" and len(answer.split()) > 1):
        return "Who"
    if label in _AMOUNTS or label == "PERSON":
        return ""
    if label in _BY_LABEL:  # a single word is often wrongly labelled as an organization
        return _BY_LABEL[label] if len(answer.split()) > 1 or label != "ORG" else ""
    return "What" if label in _THINGS or (span.root.pos_ != "PROPN" and is_informative(span)) else ""


def _is_listed(span: Any) -> bool:
    """Return whether a name is the first of several."""
    after = span.doc[span.end : span.end + 2]
    return len(after) == 2 and after[0].text in (",", "and", "&") and after[1].pos_ == "PROPN"


def _question_words(span: Any, answer: str) -> str:
    """Return the question words for the form of an answer; a number in words counts the noun after it."""
    opening = ENGLISH.opening(answer)
    if span[-1].tag_ == "NN" and re.match(r"\d+ ", answer) and opening.startswith("How many "):
        return ""  # "1947 cookbook"
    counts = len(span) > 1 and span[-1].tag_ == "NNS" and all(token.pos_ == "NUM" for token in span[:-1])
    return opening or (f"How many {span[-1].text}" if counts else "")
