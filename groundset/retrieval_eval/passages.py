"""Source passages of questions, and their location in other chunkings.

The passage of a question is the sentence recorded for it, else its whole source chunk. A chunk contains a passage if
it is of the same document and overlaps at least half of the passage's characters; if no chunk does, the one with the
largest overlap counts. If no chunk of the document overlaps it (it was too short or a duplicate), any chunk whose text
contains the sentence counts.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from programs.types import Chunk, Sample


class Passage(NamedTuple):
    """A span of a document: a sentence if ``is_sentence``, else a whole chunk."""

    doc_id: str
    start: int
    end: int
    text: str
    is_sentence: bool


Groups = tuple[tuple[Passage, ...], ...]


def source_passages(sample: Sample, chunks: Mapping[str, Chunk]) -> Groups:
    """Return the passages of a sample, grouped as in ``retrieval_gt``; ``chunks`` are the chunks of the run by id."""
    known = {**chunks, **{chunk.chunk_id: chunk for chunk in sample.contexts}}
    focus = sample.metadata.get("focus") or ()
    sentences = [focus] if isinstance(focus, str) else list(focus)
    return tuple(tuple(_passage(known[name], sentences) for name in group) for group in sample.retrieval_gt)


def _passage(chunk: Chunk, sentences: Sequence[str]) -> Passage:
    for sentence in sentences:
        # Line breaks inside a sentence may have become spaces.
        found = re.search(r"\s+".join(map(re.escape, sentence.split())), chunk.text) if sentence.strip() else None
        if found:
            start, end = (chunk.start + offset for offset in found.span())
            return Passage(chunk.doc_id, start, end, found.group(), is_sentence=True)
    return Passage(chunk.doc_id, chunk.start, chunk.end, chunk.text, is_sentence=False)


class PassageFinder:
    """Finds the chunks that contain a passage."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Index ``chunks``."""
        self._texts = [" ".join(chunk.text.split()) for chunk in chunks]
        self._spans: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for index, chunk in enumerate(chunks):
            self._spans[chunk.doc_id].append((chunk.start, chunk.end, index))

    def find(self, passage: Passage) -> frozenset[int]:
        """Return the indices of the chunks that contain a passage; empty if none does."""
        shares = {
            index: min(end, passage.end) - max(start, passage.start)
            for start, end, index in self._spans[passage.doc_id]
            if start < passage.end and passage.start < end
        }
        if shares:
            half = (passage.end - passage.start) / 2
            most = max(shares, key=lambda index: shares[index])
            return frozenset(index for index, share in shares.items() if share >= half) or frozenset([most])
        sentence = " ".join(passage.text.split())
        return frozenset(index for index, text in enumerate(self._texts) if passage.is_sentence and sentence in text)
