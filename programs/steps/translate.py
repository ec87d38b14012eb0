"""Step ``translate``: translates the lines of a prompt; and checks of translations."""

import re
from collections.abc import Sequence

from programs.language_detection import language_among
from programs.languages.names import name_of
from programs.steps.base import Step
from programs.text import CAPITALISED, SENTENCE_END, numbers, tokens
from signatures.translate import TranslateText

STEP = Step("translate", TranslateText, limits={"max_tokens": 700, "temperature": 0.0})

MIN_WORDS = 5  # fewer words do not tell the language of a phrase
_SPACED_NUMBER = re.compile(r"\b(\d{1,3})[ \u00a0\u202f](?=\d{3}\b)")
_QUOTED = re.compile(r'"[^"]*"')


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def translation_problem(lines: Sequence[str], written: Sequence[str], language: str, source: str = "en") -> str:
    """Return why lines cannot be a translation of others, by their form; empty if they can."""
    if len(written) != len(lines):
        return f"{len(written)} lines instead of {len(lines)}"
    for line, new in zip(lines, written, strict=True):
        if lost_numbers := _numbers(line) - _numbers(new):  # "nine" may become 9
            return f"lost {', '.join(sorted(lost_numbers))}"
        if lost := [quoted for quoted in _QUOTED.findall(line) if quoted not in new]:
            return f"lost {lost[0]}"
        if len(tokens(new)) >= MIN_WORDS and language_among(new, (language, source)) != language:
            return f"not in {name_of(language)}: {new:.60}"
    return ""


def lost_name(line: str, back: str) -> str:
    """Return a capitalised word inside a sentence that the other text lacks, in any case; empty if it lacks none."""
    folded = back.casefold()
    names = (match for match in CAPITALISED.finditer(line) if match.start() and not _starts(line[: match.start()]))
    return next((name.group() for name in names if name.group().casefold() not in folded), "")


def _starts(before: str) -> bool:
    return SENTENCE_END.search(before) is not None


def _numbers(line: str) -> frozenset[str]:
    """Return the numbers in a line, without thousands separators and with a decimal point."""
    return frozenset(number.replace(",", ".") for number in numbers(_SPACED_NUMBER.sub(r"\1", line)))
