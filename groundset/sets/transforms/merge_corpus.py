"""The corpora of several runs as one.

A document is the same if its text is the same, whatever it is called, and chunks are the same if they are the same span
of one document, or of one id and text. Both are kept once, as the earlier run has them. Where one id means different
things, the later one gets a number after it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from groundset.run import Run, unused_id
from groundset.store.tables import Vectors
from programs.errors import InputError
from programs.types import Chunk, Document

_NEIGHBOURS = ("prev_id", "next_id")


class JoinedCorpus:
    """Documents and chunks of the runs so far, by their ids."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.chunks: dict[str, Chunk] = {}
        self._rows: list[Vectors] = []
        self._by_text: dict[str, Document] = {}
        self._taken: set[str] = set()
        self._of: defaultdict[str, dict[tuple[int, int], Chunk]] = defaultdict(dict)

    @property
    def vectors(self) -> Vectors:
        """Return the embeddings of all chunks, a row for each."""
        return np.stack(self._rows)

    def add(self, run: Run, name: str) -> dict[str, Chunk]:
        """Add the corpus of a run; return the merged chunk of each of its chunks, by its id there."""
        documents = {document.doc_id: self._known(document) for document in run.documents}
        self._check_cuts(run.chunks, documents, name)
        same = {chunk.chunk_id: self._same(chunk, documents[chunk.doc_id]) for chunk in run.chunks}
        names, taken = {}, set(self.chunks)
        for chunk_id, chunk in same.items():
            names[chunk_id] = chunk.chunk_id if chunk else unused_id(chunk_id, taken)
            taken.add(names[chunk_id])
        became: dict[str, Chunk] = {}
        for chunk, row in zip(run.chunks, run.chunk_vectors, strict=True):
            known = same[chunk.chunk_id]
            became[chunk.chunk_id] = known or _renamed(chunk, documents[chunk.doc_id].doc_id, names)
            if known is None:
                self._add(became[chunk.chunk_id], row)
        # A document all of whose chunks are known from others, as a part of a set may have, is not kept beside these.
        held, cut = ({chunk.doc_id for chunk in chunks} for chunks in (became.values(), run.chunks))
        for doc_id, document in documents.items():
            if document.doc_id in held or doc_id not in cut:
                self.documents.setdefault(document.doc_id, document)
        return became

    def _known(self, document: Document) -> Document:
        """Return the document of that text, else this one under an id that is free."""
        if document.text not in self._by_text:
            doc_id = unused_id(document.doc_id, self._taken)
            self._taken.add(doc_id)
            self._by_text[document.text] = document.model_copy(update={"doc_id": doc_id})
        return self._by_text[document.text]

    def _same(self, chunk: Chunk, document: Document) -> Chunk | None:
        """Return the chunk that one is already there as."""
        named = self.chunks.get(chunk.chunk_id)
        return named if named and named.text == chunk.text else self._of[document.doc_id].get((chunk.start, chunk.end))

    def _check_cuts(self, chunks: Iterable[Chunk], documents: Mapping[str, Document], run_name: str) -> None:
        """Refuse a chunk that crosses one of an earlier run, unless this run has that one as well."""
        spans: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for chunk in chunks:
            spans[documents[chunk.doc_id].doc_id].add((chunk.start, chunk.end))
        for doc_id, own in spans.items():
            others = self._of[doc_id].keys() - own
            for start, end in own - self._of[doc_id].keys():
                if any(start < other_end and other_start < end for other_start, other_end in others):
                    raise InputError(
                        f"{run_name} cuts {self.documents[doc_id].path} otherwise than the runs before it, so that its "
                        "chunks cross theirs; merge runs that were cut alike (--chunker, --chunk-size, "
                        "--chunk-overlap, --merge, --min-length)"
                    )

    def _add(self, chunk: Chunk, row: Vectors) -> None:
        self.chunks[chunk.chunk_id] = chunk
        self._of[chunk.doc_id][chunk.start, chunk.end] = chunk
        self._rows.append(row)


def _renamed(chunk: Chunk, doc_id: str, names: Mapping[str, str]) -> Chunk:
    """Return a chunk under its new ids, with those of its neighbours where its metadata names some."""
    around = {name: chunk.metadata.get(name) for name in _NEIGHBOURS if name in chunk.metadata}
    changed = {name: names.get(neighbour, neighbour) for name, neighbour in around.items() if neighbour}
    metadata = {**chunk.metadata, **changed} if changed else chunk.metadata
    return chunk.model_copy(update={"chunk_id": names[chunk.chunk_id], "doc_id": doc_id, "metadata": metadata})
