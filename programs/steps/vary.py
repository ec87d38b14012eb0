"""Step ``vary``: writes other wordings of an answer."""

import re

from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import CAPITALISED, numbers, plain, tokens
from signatures.vary import VaryAnswer

STEP = Step("vary", VaryAnswer, limits={"max_tokens": 160, "stop": ["\n\n"], "temperature": 0.0})

_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)]|[Ww]ordings?\s*:)\s+")


def wordings_of(text: str, count: int) -> list[str]:
    """Return the first distinct wordings in the lines of a completion, without bullets and quotation marks."""
    distinct: dict[str, str] = {}
    for line in text.splitlines():
        wording = " ".join(plain(_BULLET.sub("", line)).strip(' "“”„«»').split())
        if tokens(wording):
            distinct.setdefault(wording.casefold(), wording)
    return list(distinct.values())[:count]


def wording_problem(wording: str, question: str, answer: str, passage: str, language: Language) -> str | None:
    """Return why simple checks refuse another wording of an answer; None if they accept it.

    It must contain all numbers and names of the answer, and no others except those of the question.
    """
    if tokens(wording) == tokens(answer):
        return "repeats the answer"
    if not language.is_stated(wording):
        return "says that there is no answer"
    asked, stated, varied = (numbers(language.in_digits(text)) for text in (question, answer, wording))
    if not stated <= varied <= stated | asked:
        return "has other numbers"
    known = {*tokens(question), *tokens(answer)}
    if not _names(answer, passage) <= set(tokens(wording)) or not _names(wording, passage) <= known:
        return "has other names"
    return None


def _names(text: str, passage: str) -> set[str]:
    """Return the capitalised words of a text; the first one only if the passage has it within a sentence."""
    names = set()
    for match in CAPITALISED.finditer(text):
        word = match.group()
        if match.start() or re.search(rf"[\w,;:)] {re.escape(word)}\b", passage):
            names.update(tokens(word))
    return names
