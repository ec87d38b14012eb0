"""Evolution ``typos``: the question with one or two typing errors, by rule.

Most typing errors omit, double or transpose one letter (Damerau, "A technique for computer
detection and correction of spelling errors", 1964). Names, numbers and short words are not
changed, because the question could become ambiguous.
"""

import random
import re

from programs.evolutions.base import Evolution
from programs.languages.base import Language

_WORD = re.compile(r"(?<![\w'’-])[^\W\d_A-Z]{5,}(?![\w'’-])")  # at least five lower-case letters
_LONG = 10  # words; longer questions get two errors


def with_typos(question: str, language: Language, rng: random.Random) -> str | None:
    """Return a question with typing errors, None if no word is suitable."""
    del language
    found = [match for match in _WORD.finditer(question) if match[0] == match[0].lower()]
    wanted = 1 + (len(question.split()) > _LONG)
    for match in sorted(rng.sample(found, min(wanted, len(found))), key=lambda match: -match.start()):
        question = question[: match.start()] + _mistyped(match[0], rng) + question[match.end() :]
    return question if found else None


def _mistyped(word: str, rng: random.Random) -> str:
    """Return a word with one error after its first letter."""
    indices = list(range(1, len(word) - 1))
    rng.shuffle(indices)
    kinds = ["omit", "double", "transpose"]
    rng.shuffle(kinds)
    for kind in kinds:
        for index in indices:
            first, second = word[index], word[index + 1]
            if first == second:
                continue  # no visible error
            if kind == "omit":
                return word[:index] + word[index + 1 :]
            if kind == "double":
                return word[:index] + first + word[index:]
            return word[:index] + second + first + word[index + 2 :]
    return word[:-1]


EVOLUTION = Evolution("typos", "Adds one or two typing errors to the question.", restyle=with_typos)
