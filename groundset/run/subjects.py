"""What a collection speaks of, by word statistics: phrases of two or three words."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.types import Chunk, Sample
from groundset.programs.words import Language

# A phrase of so many chunks, of a large collection of one in so many, says little of them.
_COMMON, _COMMON_SHARE = 7, 5
_MOST_READ = 5_000  # chunks, of which two busy cores read 50 a second
_SHORTEST = 3  # letters of a word
_SIZES = 2, 3  # words of a phrase
_BREAK = re.compile(r"[^\w\s'’-]+|\n|\s[-–—]+\s")


def unasked(chunks: Sequence[Chunk], samples: Iterable[Sample]) -> list[str]:
    """Return what headings name and a few chunks speak of, but no question, answer or evidence, the
    most frequent first; of a large collection, a part that is spread over it is read.
    """
    read = chunks[:: 1 + len(chunks) // _MOST_READ]
    places = defaultdict(list)  # of a phrase, as each chunk writes it
    for chunk in read:
        found = _phrases(chunk.passage, LANGUAGES[language_of(chunk.text)])
        for phrase, written in found.items():
            places[phrase].append(written)
    headed = {
        phrase
        for heading in {part for chunk in read for part in (chunk.title, *chunk.headings)}
        for phrase in _phrases(heading, LANGUAGES[language_of(heading)])
    }
    asked = {
        phrase
        for sample in samples
        for text in (sample.question, sample.answer, *sample.evidence)
        for phrase in _phrases(text, LANGUAGES[sample.language])
    }
    most = max(_COMMON, len(read) // _COMMON_SHARE)
    spoken = (places[phrase] for phrase in sorted(headed - asked))
    few = [written for written in spoken if 1 < len(written) < most]
    return [written[0] for written in sorted(few, key=len, reverse=True)]


def _phrases(text: str, language: Language) -> dict[str, str]:
    """Return the phrases of a text by their stems, as they are written."""
    found: dict[str, str] = {}
    for piece in _BREAK.split(text):
        words = piece.split()
        stems = [_stem(word, language) for word in words]
        for size in _SIZES:
            for start in range(len(words) - size + 1):
                part = slice(start, start + size)
                if all(stems[part]):
                    found.setdefault(" ".join(stems[part]), " ".join(words[part]))
    return found


@lru_cache(65_536)
def _stem(word: str, language: Language) -> str:
    """Return the stem of a word; nothing for one that says little, a number, and a time."""
    says_little = len(word) < _SHORTEST or word.casefold() in language.stop_words
    if says_little or language.in_digits(word).isdigit() or language.can_be("time", word):
        return ""
    return " ".join(language.content_words(word))
