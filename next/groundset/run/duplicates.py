"""Which questions repeat one that the run has already."""

import re
import unicodedata
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from programs.text import numbers
from programs.types import Sample

SIMILARITY = 0.92  # chosen by hand, not tuned
_SAME_ANSWER = 0.6  # of questions with the same answer from the same chunk; chosen by hand, not tuned
_SEPARATORS = re.compile(r"[\W_]+")


class Duplicates:
    """The questions of a run.

    Two are duplicates if they have the same words, or if the cosine of their embeddings is at least ``SIMILARITY`` and
    they contain the same numbers, which embeddings hardly tell apart. Less is enough with the same answer from the same
    chunk, because embedders miss paraphrases in languages that they were not trained on.
    """

    def __init__(self) -> None:
        """Begin without questions."""
        self._questions: list[str] = []
        self._by_words: dict[str, int] = {}
        self._by_answer: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._rows = np.zeros((0, 0), dtype=np.float32)

    def add(self, sample: Sample, vector: NDArray[np.float32]) -> None:
        """Add a question with its embedding."""
        count = len(self._questions)
        if count == len(self._rows):
            grown = np.zeros((max(64, 2 * count), len(vector)), dtype=np.float32)
            grown[:count] = self._rows[:count] if count else grown[:0]
            self._rows = grown
        self._rows[count] = vector
        self._by_words.setdefault(_words(sample.question), count)
        for chunk in sample.contexts:
            self._by_answer[chunk.chunk_id, _words(sample.answer)].append(count)
        self._questions.append(sample.question)

    def find(self, sample: Sample, vector: NDArray[np.float32]) -> str | None:
        """Return why a question is a duplicate, None if it is none."""
        same = self._by_words.get(_words(sample.question))
        if same is None and self._questions:
            similarities = self._rows[: len(self._questions)] @ vector
            near = [
                place for chunk in sample.contexts for place in self._by_answer[chunk.chunk_id, _words(sample.answer)]
            ]
            alike = [place for place in near if similarities[place] >= _SAME_ANSWER]
            own = numbers(sample.question)
            close = np.flatnonzero(similarities >= SIMILARITY).tolist()
            alike += [place for place in close if numbers(self._questions[place]) == own]
            same = max(alike, key=lambda place: similarities[place], default=None)
        return None if same is None else f"repeats a question of the run: {self._questions[same]!r}"


def _words(text: str) -> str:
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
