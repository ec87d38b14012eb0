"""The shape of a sentence: its common words as they are, every other word as what it looks like."""

import re
from collections.abc import Collection, Iterator

_TOKEN = re.compile(r"\d[\d.,:]*|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")
_ENDINGS = ("tion", "ing", "ed", "ly", "en", "er", "s", "e")


def words_of(text: str) -> set[str]:
    """Return the words, numbers and signs of a text, folded."""
    return {match.group().casefold() for match in _TOKEN.finditer(text)}


def shape(text: str, vocabulary: Collection[str]) -> list[str]:
    """Return a text as a list of words of the vocabulary and of classes for all others.

    A run of capitalised words is one ``<name>``, a number is ``<number>``, any other word is known by its ending.
    So what is learned from one subject holds for another.
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
    """Yield each run of up to ``longest`` items of a shape once."""
    seen = set()
    for length in range(1, longest + 1):
        for start in range(len(shape) - length + 1):
            gram = " ".join(shape[start : start + length])
            if gram not in seen:
                seen.add(gram)
                yield gram
