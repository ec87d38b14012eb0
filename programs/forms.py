"""Forms of question: evolutions, which ask for something else, a row each, and a persona, who words
a finished one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from groundset.programs.text import numbers, tokens
from groundset.programs.words import Language

_CODE = re.compile(r"^(?:```|~~~)|(?:^ {4}\S.*\n){2}", re.MULTILINE)
_ROW = re.compile(r"^\s*\|.+\|\s*$", re.MULTILINE)
_FORMULA = re.compile(
    r"\$[^$\n]{3,}\$|\\[(\[]|\\(?:frac|sum|int|sqrt|cdot|times)\b|"
    r"\b\w+ ?= ?[\w(][^=\n]{0,60}[+*/^×·−]"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|where|until|while|after|before|provided|except|only|within|must|may|"
    r"wenn|falls|sofern|außer|nur|bevor|si|sauf|lorsque|quand|avant|cuando|salvo|antes)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?:\s|$)|^\s*(?:[-*]|\d+[.)])\s", re.MULTILINE)
# The end of one, not of a number before an item.
_SENTENCE_END = re.compile(r"(?:[^\W\d_]|\d{3}|[%)\"”])[.!?](?:\s|$)", re.MULTILINE)
_LEAST_ROWS = 3  # header, delimiter and one more
_TWO_STATEMENTS = 3  # sentences or list items in which two statements can stand apart
_GIVEN = 0.5  # share of the answer's content words that a wording may not add
_KEPT = 0.5  # share of the question's content words that it must keep
_WORDS = range(4, 41)  # of a wording
PERSONAS = (  # for any documents, where the user names none
    "a newcomer who has never heard of the subject",
    "an expert who checks one detail",
    "a student who prepares for an examination",
    "a clerk who has to answer a customer's letter",
    "an engineer who dislikes long sentences",
    "a lawyer who chooses every word with care",
)


def _has(pattern: re.Pattern[str], least: int = 1) -> Callable[[str], bool]:
    return lambda passage: len(pattern.findall(passage)) >= least


class Evolution(NamedTuple):
    """One row of the table of evolutions."""

    about: str  # one sentence for the help
    form: str = ""  # what the writer is told; empty for a question about several passages
    applies: Callable[[str], bool] = bool  # whether a passage, with its markup, can carry it
    max_words: int = 30  # of the question


SIMPLE, MULTI, UNANSWERABLE, CONVERSATION = (
    "simple",
    "multi_context",
    "unanswerable",
    "conversation",
)
UNSURE = "unsure"  # of an own question that only a person can settle

EVOLUTIONS: Mapping[str, Evolution] = {
    SIMPLE: Evolution("Asks directly.", "ask directly for what the passage tells"),
    "reasoning": Evolution(
        "Needs two statements of the passage.",
        "ask for something that no single sentence tells and that follows from two statements of"
        " the passage: a rule and a case that it settles, a cause and what it led to in the end, or"
        " figures of which the one bears on the other",
        _has(_SENTENCE_END, _TWO_STATEMENTS),  # a list of values is looked up
    ),
    "conditional": Evolution(
        "Asks under a condition that the passage states.",
        "ask as somebody does who is in a certain case that the passage names, under a condition or"
        " an exception, without which the answer would be another one",
        _has(_CONDITION),
    ),
    MULTI: Evolution("Needs several passages."),
    "broaden": Evolution(
        "Asks for a whole list.",
        "ask for the whole of something of which the passage lists the parts: all reasons, all"
        " steps, all conditions",
        _has(_SENTENCE, _TWO_STATEMENTS),
    ),
    "code": Evolution(
        "Asks what code does, or how to do something with it.",
        "ask about the code of the passage: what it does, which call, option or value does a"
        " certain thing, or what has to be written to reach something; name the tool or library"
        " that it belongs to",
        _has(_CODE),
    ),
    "compare": Evolution(
        "Asks how two things in the passage differ.",
        "ask how two things that the passage speaks of differ or agree in one respect, and name"
        " both",
    ),
    "concretise": Evolution(
        "Asks about a specific case.",
        "ask about one particular case, with the details that somebody in that case would name;"
        " what the passage states in general must settle it",
    ),
    "constrain": Evolution(
        "Adds a restriction that rules out other answers.",
        "ask with a restriction that the passage states, such as a place, a group, a limit or a"
        " period, so that only one answer is left",
    ),
    "deepen": Evolution(
        "Asks for the mechanism or the reason.",
        "ask for what lies behind something: the reason, the mechanism or the steps that the"
        " passage gives for it",
    ),
    "formula": Evolution(
        "Asks about a formula and what its parts stand for.",
        "ask about the formula of the passage: what it gives, what a part of it stands for, how the"
        " result changes with a part, or the result for values that the question gives",
        _has(_FORMULA),
    ),
    "hypothetical": Evolution(
        "Asks what would apply in an imagined case.",
        'ask what would hold if somebody were in a certain situation ("If …, what …?"); what the'
        " passage states must settle it",
    ),
    "simplify": Evolution(
        "Asks in at most 15 plain words.", "ask in plain everyday words, at most fifteen", bool, 15
    ),
    "table": Evolution(
        "Asks for something that a table shows.",
        "ask for something that has to be read off the table of the passage: a value that two"
        " headings lead to, the largest or smallest of a column, or the difference between two"
        " rows; say what the values are of",
        _has(_ROW, _LEAST_ROWS),
    ),
    UNANSWERABLE: Evolution(
        "Asks for something that no chunk answers.",
        "ask for one definite thing that belongs to the matter of the passage and that it leaves"
        " open: a figure, a name, a date, a reason, a way of doing something, a case that no rule"
        " covers. The passage neither states the answer nor allows to conclude it, and states what"
        " the question takes for granted. As the answer, write what is left open; as the evidence,"
        " the words that come nearest",
    ),
    CONVERSATION: Evolution("Asks a follow-up question, as the second turn of a conversation."),
}

# What a question can ask for, with default weights. In a million search engine queries, 53 % ask
# for a description and 47 % for a number, name, place or person; 17 % contain "how" and 2 % "why"
# (MS MARCO, Bajaj et al. 2016, arXiv:1611.09268). Reasons, conditions and purposes have higher
# weights, because users of an organisation's documents ask for them.
KINDS: Mapping[str, float] = {
    "fact": 4.0,
    "how": 2.0,
    "why": 1.5,
    "definition": 1.0,
    "list": 1.0,
    "condition": 1.0,
    "comparison": 0.5,
    "consequence": 0.5,
    "purpose": 0.5,
}


PERSONA = "persona"
FORMS = (*EVOLUTIONS, PERSONA)
AS_PERSONA = (
    "Word it as {persona} would ask it, in the words and the tone of that person: one full"
    " question of at most 30 words."
)
FOLLOW_UP = (
    "Word it as the next message of this conversation, short and referring back as people speak,"
    " with it, they or there, or by leaving out what was just said, so that nobody who has not read"
    " the conversation can tell what it is about: {conversation}"
)


def wording_fault(question: str, wording: str, answer: str, language: Language) -> str | None:
    """Return why the wording of a question is refused; None if simple checks accept it."""
    words = len(wording.split())
    if tokens(question) == tokens(wording):
        return "it is no other wording"
    if words not in _WORDS:
        return f"it has {words} words, {_WORDS[0]} to {_WORDS[-1]} are wanted"
    if not wording.endswith("?"):
        return "it is no question"
    before, after = (numbers(language.in_digits(text)) for text in (question, wording))
    if lost := sorted(before - after):
        return f"it lost numbers: {', '.join(lost)}"
    asked, worded = set(language.content_words(question)), set(language.content_words(wording))
    if len(asked & worded) < _KEPT * len(asked):
        return f"it lost what the question asks: {', '.join(sorted(asked - worded))}"
    added = worded - asked
    wanted = set(language.content_words(answer))
    if wanted and len(added & wanted) > _GIVEN * len(wanted):
        return f"it gives its answer away: {answer!r}"
    return None


def refers_back(follow_up: str, question: str, first_turn: str, language: Language) -> bool:
    """Return whether a stand-alone question has content words of the first turn that the follow-up
    leaves out.
    """
    words = language.content_words
    return bool((set(words(question)) - set(words(follow_up))) & set(words(first_turn)))


def spoken(messages: Sequence[Mapping[str, str]]) -> str:
    """Return a conversation as one line."""
    text = " ".join(f"{message['role'].capitalize()}: {message['content']}" for message in messages)
    return re.sub(r"\s+", " ", text)
