"""Questions that ask the same as an accepted one."""

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

SIMILARITY = 0.92  # set by hand, fitted to nothing
ANSWERED_ALIKE = 0.6  # the same for questions with the same answer from the same chunk

_BLOCK = 1024  # questions that are compared with all others at a time
_SEPARATORS = re.compile(r"[\W_]+")


class Duplicates:
    """The accepted questions, and whether another one repeats any of them.

    A question repeats another if both are the same words, whatever their case and punctuation; or if their
    embeddings have a cosine of at least ``SIMILARITY`` and they name the same numbers. Embeddings hardly see
    numbers, and questions about two years are two questions. Where both have the same answer from the same chunk,
    ``ANSWERED_ALIKE`` is enough: embedders are poor at paraphrases in languages that they were not trained on.
    """

    def __init__(self, encode: Encode) -> None:
        """Start with no question; ``encode`` returns unit-length rows."""
        self._encode = encode
        self._questions: list[str] = []
        self._normal: dict[str, int] = {}
        self._answered: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._vectors: Vectors | None = None

    def vector(self, question: str) -> Vectors:
        """Return the embedding of a question."""
        vector: Vectors = self._encode([question])[0]
        return vector

    def find(
        self, question: str, vector: Vectors, *, answer: str = "", chunks: Iterable[str] = ()
    ) -> tuple[str, float] | None:
        """Return the accepted question that this one repeats, and their similarity.

        ``chunks`` are the ids of what the question was made from.
        """
        same = self._normal.get(normalise(question))
        if same is not None:
            return self._questions[same], 1.0
        if self._vectors is None:
            return None
        similarities = self._vectors[: len(self._questions)] @ vector
        for chunk in chunks:
            for index in self._answered.get((chunk, normalise(answer)), ()):
                if similarities[index] >= ANSWERED_ALIKE:
                    return self._questions[index], float(similarities[index])
        asked = numbers(question)
        for index in np.argsort(-similarities, kind="stable"):
            if similarities[index] < SIMILARITY:
                return None
            if numbers(self._questions[index]) == asked:
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
        self._normal.setdefault(normalise(question), count)
        for chunk in chunks:
            self._answered[chunk, normalise(answer)].append(count)
        self._questions.append(question)


def repetitions(questions: Sequence[str], vectors: Vectors) -> Iterator[tuple[int, int]]:
    """Yield the positions of every two questions of which one repeats the other; see :class:`Duplicates`."""
    same: dict[str, int] = {}
    for place, question in enumerate(questions):
        first = same.setdefault(normalise(question), place)
        if first != place:
            yield first, place
    asked = [numbers(question) for question in questions]
    for start in range(0, len(questions), _BLOCK):
        similar = vectors[start : start + _BLOCK] @ vectors[start:].T
        for first, second in np.argwhere(similar >= SIMILARITY).tolist():
            if first < second and asked[start + first] == asked[start + second]:
                yield start + first, start + second


def source_of(made: Draft | Sample) -> dict[str, Any]:
    """Return the answer and the chunk ids of a question, as :class:`Duplicates` takes them."""
    return {"answer": made.answer, "chunks": [chunk.chunk_id for chunk in made.contexts]}


def normalise(question: str) -> str:
    """Return the words of a question without case, punctuation and spacing."""
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", question).casefold()).strip()
