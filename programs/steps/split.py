"""Step ``split``: splits a question that asks two things."""

import re
from collections.abc import Sequence

from programs.languages.base import Language
from programs.steps.base import Step
from programs.steps.question import tidy_question
from programs.text import tokens
from signatures.split import SplitQuestion

STEP = Step("split", SplitQuestion, limits={"max_tokens": 96, "stop": ["\n\n"], "temperature": 0.0})

_NUMBER = re.compile(r"^\s*\d{1,2}[.)]\s+")


def asks_twice(question: str, language: Language) -> bool:
    """Return whether a question asks two things: "..., and how does ...", or two questions in a row."""
    several = question.count("?") > 1 or re.search(r"\?\s*\w", question) is not None
    return several or language.second_question.search(question) is not None


def parts_of(written: Sequence[str]) -> list[str]:
    """Return the questions in the lines of a completion; a line may contain several."""
    parts = (tidy_question(_NUMBER.sub("", part)) for line in written for part in re.findall(r"[^?]+\?", line))
    return [part for part in parts if tokens(part)]
