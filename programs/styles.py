"""Styles: ways to word a finished question, a line of instruction each."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from programs.text import numbers, tokens
from programs.words import Language

_GIVEN = 0.5  # share of the answer's content words that a wording may not add
_KEPT = 0.5  # share of the question's content words that it must keep
LIKE, PERSONA = "like", "persona"

PERSONAS = (  # for any documents, where the user names none
    "a newcomer who has never heard of the subject",
    "an expert who checks one detail",
    "a student who prepares for an examination",
    "a clerk who has to answer a customer's letter",
    "an engineer who dislikes long sentences",
    "a lawyer who chooses every word with care",
)


class Style(NamedTuple):
    """One row of the table.

    Attributes:
        about: one sentence for the help.
        change: the instruction; ``{persona}`` stands for a person.
        words: the fewest and the most words.
        is_question: whether it must be a full question.
    """

    about: str
    change: str
    words: tuple[int, int]
    is_question: bool = True


STYLES: Mapping[str, Style] = {
    "conversational": Style(
        "Words the question as one asks a colleague or a chat assistant.",
        "Word it in everyday words and in the first or second person, as one asks a colleague or a chat assistant: one "
        "full question of at most 25 words.",
        (4, 30),
    ),
    "terse": Style(
        "Words the question as a query of at most eight words.",
        "Word it as a search query of at most eight words and no full sentence, as typed in a hurry, but with every "
        "name and number and with what is asked for.",
        (2, 8),
        False,
    ),
    "detailed": Style(
        "Words the question in 25 to 45 words, with the situation that leads to it.",
        "Word it in 30 to 40 words: first a sentence on what the person who asks is doing, then the full question with "
        "every name. The situation is everyday and says nothing about the subject that the question does not say.",
        (25, 45),
    ),
    PERSONA: Style(
        "Words the question as a person named by --personas would ask it.",
        "Word it as {persona} would ask it, in the words and the tone of that person: one full question of at most 30 "
        "words.",
        (4, 40),
    ),
    LIKE: Style(
        "Words the question in the style of your own queries, given by --like.",
        "Word it like the examples: about as long, with their grammar, capitals and punctuation, but nothing of what "
        "they are about.",
        (2, 60),
        False,
    ),
}
FOLLOW_UP = (
    "Word it as the next message of this conversation, short and referring back as people speak, with it, they or "
    "there, or by leaving out what was just said, so that nobody who has not read the conversation can tell what it is "
    "about: {conversation}"
)


def wording_fault(
    style: Style, question: str, wording: str, answer: str, language: Language, examples: Sequence[str] = ()
) -> str | None:
    """Return why the wording of a question is refused; None if simple checks accept it."""
    words, (fewest, most) = len(wording.split()), style.words
    if tokens(question) == tokens(wording):
        return "it is no other wording"
    if not fewest <= words <= most:
        return f"it has {words} words, {fewest} to {most} are wanted"
    if style.is_question and not wording.endswith("?"):
        return "it is no question"
    before, after = (numbers(language.in_digits(text)) for text in (question, wording))
    if lost := sorted(before - after):
        return f"it lost numbers: {', '.join(lost)}"
    asked, worded = set(language.content_words(question)), set(language.content_words(wording))
    if len(asked & worded) < _KEPT * len(asked):
        return f"it lost what the question asks: {', '.join(sorted(asked - worded))}"
    added = worded - asked
    if copied := sorted(added & {word for text in examples for word in language.content_words(text) if word.isdigit()}):
        return f"it copies the examples: {', '.join(copied)}"
    wanted = set(language.content_words(answer))
    if wanted and len(added & wanted) > _GIVEN * len(wanted):
        return f"it gives its answer away: {answer!r}"
    return None


def refers_back(follow_up: str, question: str, first_turn: str, language: Language) -> bool:
    """Return whether a stand-alone question has content words of the first turn that the follow-up leaves out."""
    words = language.content_words
    return bool((set(words(question)) - set(words(follow_up))) & set(words(first_turn)))


def spoken(messages: Sequence[Mapping[str, str]]) -> str:
    """Return a conversation as one line."""
    text = " ".join(f"{message['role'].capitalize()}: {message['content']}" for message in messages)
    return re.sub(r"\s+", " ", text)
