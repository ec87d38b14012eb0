"""Evolution ``typos``: the question with one or two typing errors, by rule.

Most typing errors are one letter left out, doubled, or exchanged with its neighbour (Damerau, "A technique for computer
detection and correction of spelling errors", 1964). Names, numbers and short words stay as they are: with an error in
them nobody could tell what is meant.
"""

import random
import re

from programs.evolutions.base import Evolution
from programs.languages.base import Language

_WORD = re.compile(r"(?<![\w'’-])[^\W\d_A-Z]{5,}(?![\w'’-])")  # five letters or more, none of them a capital
_LONG = 10  # words of a question that has two errors


def with_typos(question: str, language: Language, chance: random.Random) -> str | None:
    """Return a question with typing errors, None if no word of it can have one."""
    del language
    found = [match for match in _WORD.finditer(question) if match[0] == match[0].lower()]
    wanted = 1 + (len(question.split()) > _LONG)
    for match in sorted(chance.sample(found, min(wanted, len(found))), key=lambda match: -match.start()):
        question = question[: match.start()] + _mistyped(match[0], chance) + question[match.end() :]
    return question if found else None


def _mistyped(word: str, chance: random.Random) -> str:
    """Return a word with one error behind its first letter."""
    places = list(range(1, len(word) - 1))
    chance.shuffle(places)
    kinds = ["left out", "doubled", "exchanged"]
    chance.shuffle(kinds)
    for kind in kinds:
        for place in places:
            first, second = word[place], word[place + 1]
            if first == second:
                continue  # the error would change nothing, or make what looks like another word
            if kind == "left out":
                return word[:place] + word[place + 1 :]
            if kind == "doubled":
                return word[:place] + first + word[place:]
            return word[:place] + second + first + word[place + 2 :]
    return word[:-1]


EVOLUTION = Evolution("typos", "Puts one or two typing errors into the question.", restyle=with_typos)
