"""Merge the corpora of runs.

Documents with the same text are duplicates, whatever their path. Chunks are duplicates if they have the same span of
the same document, or the same id and text. The first run's version is kept. If two runs use an id for different things,
the later one gets a numeric suffix.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from groundset.run import Run, unused_id
from groundset.store.tables import Vectors
from programs.errors import InputError
from programs.types import Chunk, Document

_NEIGHBOURS = ("prev_id", "next_id")


class MergedCorpus:
    """Documents and chunks of the runs so far, by id."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.chunks: dict[str, Chunk] = {}
        self._rows: list[Vectors] = []
        self._by_text: dict[str, Document] = {}
        self._taken: set[str] = set()
        self._by_span: defaultdict[str, dict[tuple[int, int], Chunk]] = defaultdict(dict)

    @property
    def vectors(self) -> Vectors:
        """Return the embeddings of all chunks, one row each."""
        return np.stack(self._rows)

    def add(self, run: Run, name: str) -> dict[str, Chunk]:
        """Add the corpus of a run; return a mapping from its chunk ids to the merged chunks."""
        documents = {document.doc_id: self._merged_document(document) for document in run.documents}
        self._check_overlaps(run.chunks, documents, name)
        existing = {chunk.chunk_id: self._existing_chunk(chunk, documents[chunk.doc_id]) for chunk in run.chunks}
        new_ids, taken = {}, set(self.chunks)
        for chunk_id, chunk in existing.items():
            new_ids[chunk_id] = chunk.chunk_id if chunk else unused_id(chunk_id, taken)
            taken.add(new_ids[chunk_id])
        chunk_map: dict[str, Chunk] = {}
        for chunk, row in zip(run.chunks, run.chunk_vectors, strict=True):
            known = existing[chunk.chunk_id]
            chunk_map[chunk.chunk_id] = known or _renamed(chunk, documents[chunk.doc_id].doc_id, new_ids)
            if known is None:
                self._add(chunk_map[chunk.chunk_id], row)
        # Omit a document whose chunks all belong to other documents.
        used, chunked = ({chunk.doc_id for chunk in chunks} for chunks in (chunk_map.values(), run.chunks))
        for doc_id, document in documents.items():
            if document.doc_id in used or doc_id not in chunked:
                self.documents.setdefault(document.doc_id, document)
        return chunk_map

    def _merged_document(self, document: Document) -> Document:
        """Return the known document with the same text, else this one under an unused id."""
        if document.text not in self._by_text:
            doc_id = unused_id(document.doc_id, self._taken)
            self._taken.add(doc_id)
            self._by_text[document.text] = document.model_copy(update={"doc_id": doc_id})
        return self._by_text[document.text]

    def _existing_chunk(self, chunk: Chunk, document: Document) -> Chunk | None:
        """Return the known duplicate of a chunk."""
        named = self.chunks.get(chunk.chunk_id)
        if named and named.text == chunk.text:
            return named
        return self._by_span[document.doc_id].get((chunk.start, chunk.end))

    def _check_overlaps(self, chunks: Iterable[Chunk], documents: Mapping[str, Document], run_name: str) -> None:
        """Reject chunks that partly overlap chunks of an earlier run, unless this run has those chunks too."""
        spans: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for chunk in chunks:
            spans[documents[chunk.doc_id].doc_id].add((chunk.start, chunk.end))
        for doc_id, new in spans.items():
            others = self._by_span[doc_id].keys() - new
            for start, end in new - self._by_span[doc_id].keys():
                if any(start < other_end and other_start < end for other_start, other_end in others):
                    raise InputError(
                        f"{run_name}: chunks of {self.documents[doc_id].path} overlap those of earlier runs; merge "
                        "runs with the same chunking (--chunker, --chunk-size, --chunk-overlap, --merge, --min-length)"
                    )

    def _add(self, chunk: Chunk, row: Vectors) -> None:
        self.chunks[chunk.chunk_id] = chunk
        self._by_span[chunk.doc_id][chunk.start, chunk.end] = chunk
        self._rows.append(row)


def _renamed(chunk: Chunk, doc_id: str, new_ids: Mapping[str, str]) -> Chunk:
    """Replace the ids of a chunk, and of the neighbours in its metadata."""
    neighbours = {name: chunk.metadata.get(name) for name in _NEIGHBOURS if name in chunk.metadata}
    changed = {name: new_ids.get(neighbour, neighbour) for name, neighbour in neighbours.items() if neighbour}
    metadata = {**chunk.metadata, **changed} if changed else chunk.metadata
    return chunk.model_copy(update={"chunk_id": new_ids[chunk.chunk_id], "doc_id": doc_id, "metadata": metadata})
