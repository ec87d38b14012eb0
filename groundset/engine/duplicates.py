"""Detection of duplicate questions."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from programs.text import numbers
from programs.types import Draft, Sample

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

SIMILARITY = 0.92  # chosen by hand, not tuned
SIMILARITY_SAME_ANSWER = 0.6  # for questions with the same answer from the same chunk; chosen by hand, not tuned

_BLOCK = 1024  # rows of the similarity matrix computed at once
_SEPARATORS = re.compile(r"[\W_]+")


class Duplicates:
    """An index of accepted questions that finds duplicates.

    Two questions are duplicates if their words are the same apart from case and punctuation, or if the cosine of their
    embeddings is at least ``SIMILARITY`` and they contain the same numbers, which embeddings hardly distinguish.
    ``SIMILARITY_SAME_ANSWER`` suffices if both have the same answer from the same chunk, because embedders miss
    paraphrases in languages outside their training data.
    """

    def __init__(self, encode: Encode) -> None:
        """Start empty; ``encode`` returns unit-length rows."""
        self._encode = encode
        self._questions: list[str] = []
        self._by_words: dict[str, int] = {}
        self._by_answer: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._vectors: Vectors | None = None

    def vector(self, question: str) -> Vectors:
        """Return the embedding of a question."""
        vector: Vectors = self._encode([question])[0]
        return vector

    def find(
        self, question: str, vector: Vectors, *, answer: str = "", chunks: Iterable[str] = ()
    ) -> tuple[str, float] | None:
        """Return the accepted question that this one duplicates, and their similarity, or None.

        ``chunks`` are the ids of the question's chunks.
        """
        same = self._by_words.get(normalise(question))
        if same is not None:
            return self._questions[same], 1.0
        if self._vectors is None:
            return None
        similarities = self._vectors[: len(self._questions)] @ vector
        for chunk in chunks:
            for index in self._by_answer.get((chunk, normalise(answer)), ()):
                if similarities[index] >= SIMILARITY_SAME_ANSWER:
                    return self._questions[index], float(similarities[index])
        own_numbers = numbers(question)
        for index in np.argsort(-similarities, kind="stable"):
            if similarities[index] < SIMILARITY:
                return None
            if numbers(self._questions[index]) == own_numbers:
                return self._questions[index], float(similarities[index])
        return None

    def add(self, question: str, vector: Vectors, *, answer: str = "", chunks: Iterable[str] = ()) -> None:
        """Add an accepted question; see :meth:`find`."""
        count = len(self._questions)
        if self._vectors is None or count == len(self._vectors):
            grown = np.zeros((max(64, 2 * count), len(vector)), dtype=np.float32)
            if self._vectors is not None:
                grown[:count] = self._vectors
            self._vectors = grown
        self._vectors[count] = vector
        self._by_words.setdefault(normalise(question), count)
        for chunk in chunks:
            self._by_answer[chunk, normalise(answer)].append(count)
        self._questions.append(question)


def repetitions(questions: Sequence[str], vectors: Vectors) -> Iterator[tuple[int, int]]:
    """Yield the positions of all pairs of duplicate questions; see :class:`Duplicates`."""
    by_words: dict[str, int] = {}
    for position, question in enumerate(questions):
        first = by_words.setdefault(normalise(question), position)
        if first != position:
            yield first, position
    named = [numbers(question) for question in questions]
    for start in range(0, len(questions), _BLOCK):
        similar = vectors[start : start + _BLOCK] @ vectors[start:].T
        for first, second in np.argwhere(similar >= SIMILARITY).tolist():
            if first < second and named[start + first] == named[start + second]:
                yield start + first, start + second


def source_of(made: Draft | Sample) -> dict[str, Any]:
    """Return the answer and chunk ids of a question as keyword arguments of :class:`Duplicates`."""
    return {"answer": made.answer, "chunks": [chunk.chunk_id for chunk in made.contexts]}


def normalise(question: str) -> str:
    """Return the words of a question without case, punctuation and spacing."""
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", question).casefold()).strip()
