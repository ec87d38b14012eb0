"""Evolutions: the forms that a question can take. To add one, add a row."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_CODE = re.compile(r"^(?:```|~~~)|(?:^ {4}\S.*\n){2}", re.MULTILINE)
_ROW = re.compile(r"^\s*\|.+\|\s*$", re.MULTILINE)
_FORMULA = re.compile(
    r"\$[^$\n]{3,}\$|\\[(\[]|\\(?:frac|sum|int|sqrt|cdot|times)\b|\b\w+ ?= ?[\w(][^=\n]{0,60}[+*/^×·−]"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|where|until|while|after|before|provided|except|only|within|must|may|wenn|falls|sofern|außer|"
    r"nur|bevor|si|sauf|lorsque|quand|avant|cuando|salvo|antes)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?:\s|$)|^\s*(?:[-*]|\d+[.)])\s", re.MULTILINE)
_LEAST_ROWS = 3  # header, delimiter and one more
_TWO_STATEMENTS = 3  # sentences or list items in which two statements can stand apart


def _has(pattern: re.Pattern[str], least: int = 1) -> Callable[[str], bool]:
    return lambda passage: len(pattern.findall(passage)) >= least


class Evolution(NamedTuple):
    """One row of the table.

    Attributes:
        about: one sentence for the help.
        form: what the writer is told; empty for a question about several passages.
        applies: whether a passage, with its markup, can carry it.
        max_words: the most words of the question.
    """

    about: str
    form: str = ""
    applies: Callable[[str], bool] = bool
    max_words: int = 30


SIMPLE, MULTI, UNANSWERABLE, CONVERSATION = "simple", "multi_context", "unanswerable", "conversation"

EVOLUTIONS: Mapping[str, Evolution] = {
    SIMPLE: Evolution("Asks directly.", "ask directly for what the passage tells"),
    "reasoning": Evolution(
        "Needs two statements of the passage.",
        "ask for something that no single sentence tells and that follows from two statements of the passage: a rule "
        "and a case that it settles, a cause and what it led to in the end, or figures of which the one bears on the "
        "other",
        _has(_SENTENCE, _TWO_STATEMENTS),
    ),
    "conditional": Evolution(
        "Asks under a condition that the passage states.",
        "ask what holds under a condition, an exception or a circumstance that the passage states, and without which "
        "the answer would be another one",
        _has(_CONDITION),
    ),
    MULTI: Evolution("Needs several passages."),
    "broaden": Evolution(
        "Asks for a whole list.",
        "ask for the whole of something of which the passage lists the parts: all reasons, all steps, all conditions",
        _has(_SENTENCE, _TWO_STATEMENTS),
    ),
    "code": Evolution(
        "Asks what code does, or how to do something with it.",
        "ask about the code of the passage: what it does, which call, option or value does a certain thing, or what "
        "has to be written to reach something; name the tool or library that it belongs to",
        _has(_CODE),
    ),
    "compare": Evolution(
        "Asks how two things in the passage differ.",
        "ask how two things that the passage speaks of differ or agree in one respect, and name both",
    ),
    "concretise": Evolution(
        "Asks about a specific case.",
        "ask about one particular case, with the details that somebody in that case would name; what the passage "
        "states in general must settle it",
    ),
    "constrain": Evolution(
        "Adds a restriction that rules out other answers.",
        "ask with a restriction that the passage states, such as a place, a group, a limit or a period, so that only "
        "one answer is left",
    ),
    "deepen": Evolution(
        "Asks for the mechanism or the reason.",
        "ask for what lies behind something: the reason, the mechanism or the steps that the passage gives for it",
    ),
    "formula": Evolution(
        "Asks about a formula and what its parts stand for.",
        "ask about the formula of the passage: what it gives, what a part of it stands for, how the result changes "
        "with a part, or the result for values that the question gives",
        _has(_FORMULA),
    ),
    "hypothetical": Evolution(
        "Asks what would apply in an imagined case.",
        'ask what would hold if somebody were in a certain situation ("If …, what …?"); what the passage states must '
        "settle it",
    ),
    "simplify": Evolution("Asks in at most 15 plain words.", "ask in plain everyday words, at most fifteen", bool, 15),
    "table": Evolution(
        "Asks for something that a table shows.",
        "ask for something that has to be read off the table of the passage: a value that two headings lead to, the "
        "largest or smallest of a column, or the difference between two rows; say what the values are of",
        _has(_ROW, _LEAST_ROWS),
    ),
    UNANSWERABLE: Evolution(
        "Asks for something that no chunk answers.",
        "ask for one definite thing that belongs to the matter of the passage and that it leaves open: a figure, a "
        "name, a date, a reason, a way of doing something, a case that no rule covers. The passage neither states "
        "the answer nor allows to conclude it, and states what the question takes for granted. As the answer, write "
        "what is left open; as the evidence, the words that come nearest",
    ),
    CONVERSATION: Evolution("Asks a follow-up question, as the second turn of a conversation."),
}

# What a question can ask for, with default weights. In a million search engine queries, 53 % ask for a description and
# 47 % for a number, name, place or person; 17 % contain "how" and 2 % "why" (MS MARCO, Bajaj et al. 2016,
# arXiv:1611.09268). Reasons, conditions and purposes have higher weights, because users of an organisation's documents
# ask for them.
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
