"""What a sentence makes its statement depend on, for evolution ``conditional``."""

import re
from typing import Any, NamedTuple

from programs.syntax import clauses, text_of
from programs.types import Focus, Parse
from programs.words import CONTEXT_REFERENCE, loose_pronouns, stop_words, tokens, without_brackets

_CLAUSE: dict[str, str] = {
    "en": r"(?:if|when|while|after|before|because|since|although|though|unless|until|once|during|following|despite|"
    r"as soon as|where|provided that|in case)\b",
    "de": r"(?:wenn|falls|als|während|nachdem|bevor|weil|da|obwohl|sobald|solange|trotz|bei|nach)\b",
    "fr": r"(?:si|quand|lorsque|après|avant|parce que|pendant|bien que|dès que)\b",
    "es": r"(?:si|cuando|mientras|después de|antes de|porque|aunque|durante|tras)\b",
}
_OPENING_PHRASE: dict[str, str] = {
    "en": r"(?:in|on|at|under|with|without|by|for|as|from|between|within|through|throughout|upon|unlike|among|"
    r"according to)\b",
    "de": r"(?:in|im|am|an|auf|unter|mit|ohne|durch|für|zwischen|seit|ab|laut|nach)\b",
    "fr": r"(?:en|dans|à|sous|avec|sans|par|pour|entre|depuis|selon)\b",
    "es": r"(?:en|bajo|con|sin|por|para|entre|desde|según)\b",
}
_WORDS = range(3, 16)
_OPENING_WORDS = 7  # a longer stretch before the first comma is the main clause itself
_MARKERS = frozenset({"if", "when", "whenever", "after", "before", "unless", "until", "once", "as", "provided"})
_ASKS_TIME = r"(?:when|(?:in|on|at) (?:what|which) (?:year|date|time))\b"


class Condition(NamedTuple):
    """A clause or phrase of the focus; ``composed`` is the question under it, as far as syntax settles that."""

    text: str
    composed: str = ""


def condition_in(focus: Focus, question: str, language: str, parse: Parse | None = None) -> Condition | None:
    """Return what the focus states as a condition and the question does not name yet, or None.

    Of a parsed sentence that is an adverbial clause of what is asked. Without a parser it is what a conjunction
    opens, or a phrase of place, time or manner where the sentence opens with it and a comma ends it.
    """
    parsed = parse(without_brackets(focus.fact), language) if parse else None
    if parsed is None:
        return next(
            (Condition(text) for text in _pieces(focus.sentence, language) if _adds(text, focus, question, language)),
            None,
        )
    for clause in clauses(parsed):
        for child in clause.verb.children:
            text = _of_clause(child)
            if text and _adds(text, focus, question, language):
                composed = _compose(child, text, question)
                if composed:
                    return Condition(text, composed)
    return None


def _pieces(sentence: str, language: str) -> list[str]:
    marker = _CLAUSE.get(language, _CLAUSE["en"])
    opening_phrase = _OPENING_PHRASE.get(language, _OPENING_PHRASE["en"])
    pieces = re.split(r"([,;:.](?:\s+|$)|[()–—]|\s(?=" + marker + "))", sentence)
    found = []
    for place in range(0, len(pieces), 2):
        clause = pieces[place].strip()
        opens = place == 0 and pieces[1:2] == [", "] and len(tokens(clause)) <= _OPENING_WORDS
        opens = opens and re.match(opening_phrase, clause, re.IGNORECASE) is not None
        if opens or re.match(marker, clause, re.IGNORECASE):
            found.append(clause[0].lower() + clause[1:])
    return found


def _adds(condition: str, focus: Focus, question: str, language: str) -> bool:
    """Say whether a condition is short, holds no answer, and says what the question does not."""
    words, asked = tokens(condition), set(tokens(question))
    if set(tokens(focus.answer)) & set(words) or CONTEXT_REFERENCE.search(condition):
        return False
    new = [word for word in words if word not in asked and word not in stop_words(language)]
    return len(words) in _WORDS and len(new) >= 2


def _of_clause(verb: Any) -> str:
    """Return the text of an adverbial clause that something depends on; nothing for any other token."""
    opens = verb.left_edge.lower_
    if verb.dep_ != "advcl" or not (opens in _MARKERS or (opens == "while" and verb.tag_ == "VBG")):
        return ""
    if verb.tag_ != "VBG" and _subject(verb) is None:
        return ""
    text = text_of(verb.subtree)
    return text[:1].lower() + text[1:]


def _subject(verb: Any) -> Any:
    return next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)


def _compose(verb: Any, condition: str, question: str) -> str:
    """Return the question under the condition, which comes last where its subject is that of the question."""
    if not question:
        return condition  # only whether there is one
    if re.match(_ASKS_TIME, question, re.IGNORECASE) and condition.startswith(("when", "as ")):
        return ""  # it asks for the time that the condition is
    pronouns, subject = loose_pronouns(condition, "en"), _subject(verb)
    if pronouns or subject is None:
        own = subject is None or subject.pos_ == "PRON"
        return f"{question.rstrip('?')} {condition}?" if pronouns <= 1 and own else ""
    lowered = question[:1].lower() + question[1:]
    return f"{condition[:1].upper()}{condition[1:]}, {lowered}"
