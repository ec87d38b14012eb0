"""Easy facts of English passages: an answer in a sentence, and the words that its question begins
with.

Small models use a wrong question word or two verbs in half of their questions. So the word order is
taken from the
syntax: question word, auxiliary, subject, verb, rest of the clause. Like Heilman and Smith, "Good
Question! Statistical Ranking for Question Generation" (2010), rules generate candidates, and a
judge ranks them. The limits were set by hand on data/samples and 16 articles.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from groundset.programs import english_syntax as syntax
from groundset.programs.languages import ENGLISH
from groundset.programs.text import (
    NAME,
    SENTENCE_END,
    has_words,
    one_line,
    title_of,
    tokens,
    without_brackets,
)
from groundset.programs.words import word_list

_MAX_CHARACTERS = 2_000  # of a sentence; a huge number is one word, but takes minutes to search
_SENTENCE_WORDS = range(7, 61)
_MAX_FACTS = 3  # of one sentence
_QUESTION_WORDS = range(3, 31)
_ANSWER_WORDS = range(4, 26)  # of reasons and definitions
_MAX_ANSWER_WORDS, _MAX_DEFINED_WORDS = 10, 6
_MAX_TITLE_WORDS = 4  # words of a subject beside the name in it: "the zoo director Ann Moor"
_MONTH = f"(?:{ENGLISH.months})"
_NAMES = re.compile(rf"\b{NAME}(?:(?: (?:of|the|and|von|der|de|du|del))? {NAME})+")
_BOUND = (
    r"(?:(?:at|the) (?:least|most)|(?:(?:no|not) )?(?:more|less|fewer|later|earlier) than|up to|"
    r"an? (?:minimum|maximum) of|over|under|above|below|about|around|nearly|almost|roughly|"
    r"approximately|between)"
)
_BOUND_BEFORE = re.compile(rf"\b{_BOUND} \Z", re.IGNORECASE)
_BOUND_BEHIND = re.compile(r" (?:or (?:more|less|fewer|later|earlier)|at (?:least|most))\b")
_DATE = re.compile(rf"\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:, \d{{4}})?")
_ABOUT_PERSON = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)
_NUMBER_MODIFIERS = word_list("nummod compound quantmod")
_AMOUNT_PREPOSITIONS = word_list("after for within over by")
_TITLE = (
    r"(?:Mr|Mrs|Ms|Dr|Sir|Lady|Lord|Professor|President|Councillor|Senator|Judge|Captain|General)\b"
)
_AGENTS = {"PERSON": "whom", "ORG": "which organization"}
# Not "3 million", which lacks of what.
_COUNTED = re.compile(
    r"(?:about |up to )?\d+(?:[.,]\d+)* (?!(?:hundred|thousand|million|billion)\b)([^\W\d_]{3,})"
)
_LOOSE = word_list("no same such other another own few many more several")
_TIME_FORMS = (_YEAR, _DAY) = ("In which year", "On what date")


# Returns the spaCy document of each sentence, with tags, dependencies and entities; a batch takes
# half the time.
Parse = Callable[[Sequence[str]], Sequence[Any]]


class Fact(NamedTuple):
    """An answer in a sentence, with the beginning of its question."""

    sentence: str
    answer: str  # words of the sentence
    opening: str  # the words of the question, as far as the sentence determines them
    defines: bool = False  # whether the question asks for a definition


class _Asked(NamedTuple):
    """A possible question about a clause."""

    answer: str
    words: str
    clause: syntax.Clause
    defines: bool = False
    of_subject: bool = False


def easy_facts(passage: str, topic: str, parse: Parse) -> list[Fact]:
    """Return the facts of an English passage whose question can be understood alone; one of each
    sentence before the second one of any.
    """
    topic = re.sub(r"^About (?=the |[A-Z])", "", topic)  # such a title is a page's, not the thing's
    usable = [sentence for sentence in ENGLISH.sentences(passage) if _is_usable(sentence)]
    found: list[tuple[int, Fact]] = []
    for sentence, parsed in zip(usable, parse(list(map(without_brackets, usable))), strict=True):
        asked = [one for one in _questions(parsed, topic, passage) if one.answer in sentence]
        found += [
            (place, Fact(sentence, one.answer, one.words, one.defines))
            for place, one in enumerate(asked[:_MAX_FACTS])
        ]
    return [fact for _, fact in sorted(found, key=lambda item: item[0])]


def _is_usable(sentence: str) -> bool:
    """Return whether a sentence is whole and of a usual length."""
    if len(sentence) > _MAX_CHARACTERS or len(tokens(sentence)) not in _SENTENCE_WORDS:
        return False
    is_whole = SENTENCE_END.search(sentence) and re.match(r"[\"“(*_]*[^\W_a-zß-ÿ]", sentence)
    return bool(is_whole)


def _questions(sentence: Any, topic: str, passage: str) -> list[_Asked]:
    """Return the questions about a parsed sentence that can be understood alone."""
    title, found = title_of(topic), dict[str, _Asked]()
    known = set(title.casefold().split())
    for answer in _answers(sentence):
        words = answer.casefold().split()
        is_bare = known.issuperset(words) or re.fullmatch(r"\d{1,3}", answer)
        if is_bare or len(words) >= _MAX_ANSWER_WORDS or any(answer in other for other in found):
            continue
        if one := _named(_ask(sentence, answer), topic, passage):
            bounded = _bounded(sentence.text, answer)
            found[bounded] = one._replace(answer=bounded)
    for clause in syntax.clauses(sentence):
        verb, subject = syntax.verb_of(clause.verb), syntax.subject_of(clause.subject)
        if verb is None or not subject or subject[0].isdigit():
            continue
        for explanation in (*_definitions(clause, verb, subject), *_reasons(clause, verb, subject)):
            if one := _named(explanation, topic, passage):
                found.setdefault(one.answer, one)
    return list(found.values())


def _bounded(sentence: str, answer: str) -> str:
    """Return an answer with the words around it that bound its number: "at least 15 minutes"."""
    start = sentence.find(answer)
    end = start + len(answer)
    if answer[0].isdigit() or answer[0] in "$€£":
        if before := _BOUND_BEFORE.search(sentence, 0, start):
            start = before.start()
        if behind := _BOUND_BEHIND.match(sentence, end):
            end = behind.end()
    return sentence[start:end]


def _named(asked: _Asked | None, topic: str, passage: str) -> _Asked | None:
    """Return a question with names in full; None if it is not well-formed, or not clear without the
    passage.

    The title or a name must identify the subject, unless the sentence is a general statement.
    Abbreviations ("the CDP") do not count, nor do single names that are not in title or headings.
    """
    if asked is None:
        return None
    sentence, subject = asked.clause.verb.doc, asked.clause.subject
    text = one_line(asked.words)
    full = syntax.in_full(text, title_of(topic), sentence, passage)
    malformed = (
        len(full.split()) not in _QUESTION_WORDS
        or ENGLISH.refers_to_text(full)
        or ENGLISH.loose_pronoun.search(full)
        or asked.answer.casefold() in full.casefold()
    )
    is_thing = text.startswith("Who ") and not _is_person(asked, topic, passage)
    if malformed or is_thing:
        return None
    named = asked._replace(words=full)
    if syntax.is_general(asked.clause) or (title_of(topic) and has_words(full, title_of(topic))):
        return named
    if not (asked.of_subject or asked.defines):
        single = subject.pos_ == "PROPN" and syntax.is_bare(subject) and full == text
        is_unknown = single and subject.text.casefold() not in tokens(topic)
        if is_unknown or not syntax.is_anchored(subject):
            return None
    names = {token.text for token in sentence if token.pos_ == "PROPN"}.intersection(full.split())
    return named if any(name[:1].isupper() and not name.isupper() for name in names) else None


def _is_person(asked: _Asked, topic: str, passage: str) -> bool:
    """Return whether the text bears out that a name is that of a person: parsers take products for
    persons, too.
    """
    if re.match(_TITLE, asked.answer) or _ABOUT_PERSON.search(passage):
        return True
    written = set(without_brackets(f"{topic} {passage}").split())
    is_word = any(word.casefold() in written for word in asked.answer.split())
    verb = asked.clause.verb  # something is done to things: "Who is designed to"
    is_passive = asked.of_subject and (verb.lemma_ == "be" or syntax.has_child(verb, "auxpass"))
    return not (asked.defines or is_word or is_passive or has_words(topic, asked.answer))


def _answers(sentence: Any) -> Iterator[str]:
    """Yield dates, amounts, names and objects; a bare number includes the noun that it counts."""
    objects = [
        chunk.text
        for chunk in sentence.noun_chunks
        if chunk.root.dep_ == "dobj"
        and not any(token.pos_ == "PRON" or token.lower_ in _LOOSE for token in chunk)
    ]
    counted = [
        sentence[entity.start : entity.end + 1].text
        for entity in sentence.ents
        if (entity.label_, entity.root.dep_) == ("CARDINAL", "nummod")
        and entity.root.head.i == entity.end
    ]
    entities = [entity.text for entity in sentence.ents if entity.label_ != "ORDINAL"]
    bare = rf"^(?:{_BOUND}|some|only|the|an?) "
    names = [match[0] for match in _NAMES.finditer(sentence.text) if match.start()]
    candidates = (*names, *counted, *entities, *objects)
    yield from dict.fromkeys(re.sub(bare, "", text, flags=re.IGNORECASE) for text in candidates)


def _ask(sentence: Any, answer: str) -> _Asked | None:
    start = sentence.text.find(answer)
    # None where the words are none of the sentence, or parts of its tokens.
    span: Any = None if start < 0 else sentence.char_span(start, start + len(answer))
    for clause in syntax.clauses(sentence) if span else ():
        path, verb = syntax.path_to(span.root, clause.verb), syntax.verb_of(clause.verb)
        if verb is None or not path or any(token.pos_ in ("VERB", "AUX") for token in path):
            continue
        of_subject = path[-1].i == clause.subject.i
        if of_subject:
            question = _ask_for_subject(clause, verb, span, path, answer)
        else:
            question = _ask_for_rest(clause, verb, span, path, answer)
        return _Asked(answer, question, clause, of_subject=of_subject) if question else None
    return None


def _ask_for_subject(
    clause: syntax.Clause, verb: syntax.Verb, span: Any, path: list[Any], answer: str
) -> str | None:
    """Ask for the subject: "Who registered mozilla.org"."""
    within = len(path) == 1 or (len(path) == 2 and path[0].dep_ in _NUMBER_MODIFIERS)
    extra = sum(1 for _ in clause.subject.subtree) - len(span)
    label, rest = syntax.label_of(span), syntax.rest_of(clause, -1)
    if not within or extra > _MAX_TITLE_WORDS or label in syntax.TIMES or not rest:
        return None
    word = _question_words(span, answer) or _subject_word(span, label, answer)
    if not word or (clause.verb.lemma_ == "be" and word != "Who"):
        return None
    return f"{word} {verb.declarative} {rest}"


def _ask_for_rest(
    clause: syntax.Clause, verb: syntax.Verb, span: Any, path: list[Any], answer: str
) -> str | None:
    """Ask for an object, a time, a place or an amount: "In which year did Mozilla promote Brendan
    Eich".
    """
    subject, top = syntax.subject_of(clause.subject), path[-1]
    is_before = top.i < clause.verb.i and top.dep_ not in ("prep", "npadvmod")
    if not subject or subject[0].isdigit() or is_before:
        return None
    label, form = syntax.label_of(span), _question_words(span, answer)
    rest = f"{verb.auxiliary} {subject} {verb.rest} {syntax.rest_of(clause, top.i)}"
    dependencies = [token.dep_ for token in path]
    is_amount = top.dep_ == "prep" and top.lower_ in _AMOUNT_PREPOSITIONS
    if is_amount and form.startswith("How many "):
        return f"{top.text.capitalize()} h{form[1:]} {rest}" if len(path) < 4 else None
    if label in syntax.TIMES or form in _TIME_FORMS:
        word = _time_words(span, top, dependencies, form, answer)
        return f"{word} {rest}" if word and not re.search(r"\btimes\b", rest) else None
    counts = len(path) == 2 and dependencies[0] in _NUMBER_MODIFIERS
    if top.dep_ in ("dobj", "attr") and (len(path) == 1 or counts):
        return _ask_for_object(span, top, rest, label, form)
    if dependencies == ["pobj", "prep"] and label in syntax.PLACES:
        return f"Where {rest}" if top.lower_ in ("in", "at", "to", "into") else None
    after = [token.pos_ for token in span.doc[span.end : span.end + 2]]
    is_listed = after[1:] == ["PROPN"] and span.doc[span.end].text in (",", "and", "&")
    is_agent = dependencies == ["pobj", "agent"] and syntax.has_child(clause.verb, "auxpass")
    if is_agent and label in _AGENTS and not is_listed:
        return f"By {_AGENTS[label]} {rest}"
    return None


def _ask_for_object(span: Any, top: Any, rest: str, label: str, form: str) -> str | None:
    if form:
        of_what = syntax.text_of(
            token for token in top.subtree if token.i >= span.end and token.i > top.i
        )
        others = [child for child in top.head.children if child.dep_ in ("dobj", "attr")]
        if len(others) > 1 or (top.dep_ == "attr" and form != "How much"):
            return None
        return f"{form} {of_what if of_what.startswith('of ') else ''} {rest}"
    extra = [
        token
        for token in top.subtree
        if token.dep_ not in ("det", "punct") and not span.start <= token.i < span.end
    ]
    is_part = len(extra) > 1 or syntax.has_child(top, "conj") or not syntax.is_informative(span)
    if is_part or top.dep_ == "attr":
        return None  # "What is X" is too vague
    return f"{'Who' if label == 'PERSON' else 'What'} {rest}"


def _time_words(span: Any, top: Any, dependencies: list[str], form: str, answer: str) -> str:
    """Return the question words for a point in time; empty for a period or one of several times."""
    allowed = {"pobj", "prep", "npadvmod", *_NUMBER_MODIFIERS}
    is_point = top.dep_ == "npadvmod" or top.lower_ in ("in", "on", "at", "during")
    if not (is_point and allowed.issuperset(dependencies)) or len(dependencies) > 2:
        return ""
    after = span.doc[span.end : span.end + 1].text.casefold()
    if after in ("to", "until", "and", "or", "–", "-") or syntax.has_child(span.root, "conj"):
        return ""
    if form in _TIME_FORMS:
        return form
    if re.search(rf"\b\d{{4}}\b|century|{_MONTH}|spring|summer|autumn|winter", answer):
        return "When"
    return ""


def _subject_word(span: Any, label: str, answer: str) -> str:
    if re.match(_TITLE, answer) or (label == "PERSON" and len(answer.split()) > 1):
        return "Who"
    is_thing = label != "PERSON" and span.root.pos_ != "PROPN" and syntax.is_informative(span)
    return "What" if is_thing else ""


def _question_words(span: Any, answer: str) -> str:
    """Return the question words for the form of an answer; a number in words counts the noun after
    it.
    """
    if re.fullmatch(r"1\d{3}|20\d\d", answer):
        return _YEAR
    if _DATE.fullmatch(answer):
        return _DAY
    if re.match(r"[$€£]", answer):
        return "How much"
    if counted := _COUNTED.fullmatch(answer):
        # Not of a "1947 cookbook".
        return "" if span[-1].tag_ == "NN" and answer[0].isdigit() else f"How many {counted[1]}"
    *numbers, noun = span
    counts = numbers and noun.tag_ == "NNS" and all(token.pos_ == "NUM" for token in numbers)
    return f"How many {noun.text}" if counts else ""


def _definitions(clause: syntax.Clause, verb: syntax.Verb, subject: str) -> Iterator[_Asked]:
    """Ask what a thing is: "What is Gridfold"."""
    if clause.verb.lemma_ != "be" or verb.rest or len(subject.split()) > _MAX_DEFINED_WORDS:
        return
    for noun in clause.verb.rights:
        if (noun.dep_, noun.pos_) != ("attr", "NOUN"):
            continue
        articles = [child.lower_ for child in noun.children if child.dep_ == "det"]
        answer = syntax.leading(noun)
        fits = len(answer.split()) in _ANSWER_WORDS and not syntax.rest_of(clause, noun.i)
        fits = fits and not any(token.tag_ in ("JJS", "RBS") for token in noun.subtree)
        if fits and ENGLISH.articles.issuperset(articles):
            person = clause.subject.ent_type_ == "PERSON"
            # In the past tense there are many possible answers; single words are often wrongly
            # labelled as persons.
            if (person and " " in subject) or (not person and clause.verb.tag_ != "VBD"):
                words = f"{'Who' if person else 'What'} {verb.auxiliary} {subject}"
                yield _Asked(answer, words, clause, True)


def _reasons(clause: syntax.Clause, verb: syntax.Verb, subject: str) -> Iterator[_Asked]:
    """Ask why, for a clause with "because" or "so that", a phrase with "due to", or a purpose."""
    for child in clause.verb.rights:
        if child.dep_ not in ("advcl", "prep") or not _gives_reason(clause, child):
            continue
        answer = syntax.text_of(child.subtree)
        rest = f"{verb.rest} {syntax.rest_of(clause, child.i)}".strip()
        is_short = len(answer.split()) in _ANSWER_WORDS
        if rest and is_short:
            yield _Asked(answer, f"Why {verb.auxiliary} {subject} {rest}", clause)


def _gives_reason(clause: syntax.Clause, part: Any) -> bool:
    """Return whether a part of a clause is a reason: "so that it can hide" is one, "so that it is
    deaf" is not.
    """
    start = part.left_edge.i
    opening = " ".join(token.lower_ for token in part.doc[start : start + 2])
    is_apart = re.search("[;:]", part.doc[clause.verb.i : start].text)
    if is_apart or not syntax.ends_at_punctuation(part.right_edge):
        return False
    if re.match("because |due to$", opening):
        return True
    if opening == "so that":
        return any(child.tag_ == "MD" for child in part.children)
    is_purpose = part.tag_ == "VB" and re.match("to |in order$", opening)
    return bool(is_purpose and not syntax.has_child(clause.verb, "acomp"))  # "easy to read"
