"""The row of the table of existing stores, and the task that a store is given."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.retrieval_eval.retrievers.base import Ranking
from programs.types import Chunk

Vectors = NDArray[np.float32]


class StoreTask(NamedTuple):
    """Questions to search for in an existing store.

    Attributes:
        location: the address or file of the store, with what its kind needs besides.
        key: the payload key that holds the id or the text of a chunk, for stores with payloads.
        embedder: the name of the embedder of the questions.
        questions: their embeddings, a unit-length row for each.
        chunks: the chunks of the run.
        notify: shows one line.
    """

    location: str
    key: str
    embedder: str
    questions: Vectors
    chunks: "ChunkFinder"
    notify: Callable[[str], None]


class StoreAnswer(NamedTuple):
    """The rankings of all questions, and a remark on entries that are not chunks of the run, empty without any."""

    rankings: list[Ranking]
    remark: str


@dataclass(frozen=True)
class ExistingStore:
    """A kind of existing store: one row of the table.

    Attributes:
        name: precedes the location and a colon on the command line.
        location: the form of a location, for messages.
        check: raises an ``InputError`` if a location is wrong; sends nothing.
        search: returns the ranking of each question down to a depth.
    """

    name: str
    location: str
    check: Callable[[str], None]
    search: Callable[[StoreTask, int], StoreAnswer]


class ChunkFinder:
    """Finds a chunk of the run by its id, or by its text regardless of whitespace."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Index ``chunks``."""
        self._by_id: dict[str, int] = {}
        self._by_text: dict[str, int] = {}
        for index, chunk in enumerate(chunks):
            self._by_id[chunk.chunk_id] = index
            self._by_text.setdefault(_plain(chunk.text), index)

    def find(self, entry: Any) -> int | None:
        """Return the index of the chunk that an entry of a store names; None if there is none."""
        if not isinstance(entry, str):
            return None
        found = self._by_id.get(entry)
        return self._by_text.get(_plain(entry)) if found is None else found

    def ranking(self, entries: Iterable[Any], depth: int) -> Ranking:
        """Return the chunks that entries name, each once, down to a depth; other entries are left out."""
        found = (self.find(entry) for entry in entries)
        return list(dict.fromkeys(index for index in found if index is not None))[:depth]


def _plain(text: str) -> str:
    return " ".join(text.split())
