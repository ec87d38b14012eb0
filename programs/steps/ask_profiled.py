"""Step ``ask_profiled``: writes a question for a profile, with its answer and evidence."""

import random
import re
from collections.abc import Sequence

from programs.steps.base import Step
from programs.steps.question import is_none
from signatures.ask_profiled import AskForProfile

STEP = Step("ask_profiled", AskForProfile, limits={"max_tokens": 480, "temperature": 0.0})

_MIN_OPTIONS, _MAX_OPTIONS = 3, 8
_MIN_PIECE = 3  # characters; shorter pieces are never found, see programs.quotes
_LETTER = re.compile(r"^\(?[A-Ha-h1-8][.):]\s+")


def long_pieces(evidence: str) -> str:
    """Return the pieces of evidence without very short ones, such as the cells of a table row."""
    return "|".join(piece for piece in evidence.split("|") if len(piece.strip()) >= _MIN_PIECE)


def options_of(text: str) -> list[str]:
    """Return the options in a completion, without letters and numbers before them; none if it says "none"."""
    if is_none(text):
        return []
    parts = re.split(r"\s*\|\s*|\n+", text)
    return [option for part in parts if (option := _LETTER.sub("", " ".join(part.split())).rstrip(" ."))]


def options_problem(options: Sequence[str], answer: str) -> str | None:
    """Return why options are refused, None if they are accepted: exactly one must be the answer."""
    plain = [option.casefold() for option in options]
    if not _MIN_OPTIONS <= len(options) <= _MAX_OPTIONS:
        return f"it has {len(options)} options; {_MIN_OPTIONS} to {_MAX_OPTIONS} are wanted"
    if len(set(plain)) < len(plain):
        return "an option is repeated"
    if answer.rstrip(" .").casefold() not in plain:
        return "the answer is not among the options"
    return None


def with_options(question: str, answer: str, options: Sequence[str], seed: int) -> tuple[str, str]:
    """Return a question and its answer with lettered options in a random order."""
    shuffled = random.Random(seed).sample(options, len(options))
    lettered = [f"{chr(ord('A') + place)}) {option}" for place, option in enumerate(shuffled)]
    right = next(line for line in lettered if line[3:].casefold() == answer.rstrip(" .").casefold())
    return " ".join([question, *lettered]), right
