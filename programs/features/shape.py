"""The shape of a sentence: its common words, and classes for all other words."""

import re
from collections.abc import Collection, Iterator

_TOKEN = re.compile(r"\d[\d.,:]*|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")
_ENDINGS = ("tion", "ing", "ed", "ly", "en", "er", "s", "e")


def words_of(text: str) -> set[str]:
    """Return the words, numbers and punctuation of a text, casefolded."""
    return {match.group().casefold() for match in _TOKEN.finditer(text)}


def shape(text: str, vocabulary: Collection[str]) -> list[str]:
    """Return a text as a list of vocabulary words and of classes for all others, so that it generalises over topics.

    Consecutive capitalised words are one ``<name>``, a number is ``<number>``, other words are classed by their ending.
    """
    found = ["<start>"]
    for match in _TOKEN.finditer(text):
        token = match.group()
        folded = token.casefold()
        if folded in vocabulary or not token[0].isalnum():
            found.append(folded)
        elif token[0].isdigit():
            found.append("<number>")
        elif token[0].isupper() and match.start() > 0:
            if found[-1] != "<name>":
                found.append("<name>")
        else:
            ending = next((ending for ending in _ENDINGS if folded.endswith(ending)), "")
            found.append(f"<word {ending}>" if ending else "<word>")
    return [*found, "<end>"]


def grams(shape: list[str], longest: int = 3) -> Iterator[str]:
    """Yield each n-gram of a shape once, for n up to ``longest``."""
    seen = set()
    for length in range(1, longest + 1):
        for start in range(len(shape) - length + 1):
            gram = " ".join(shape[start : start + length])
            if gram not in seen:
                seen.add(gram)
                yield gram
