"""What a question was asked about, and which chunks hold it however the document is cut.

A passage is the sentence that a question was asked about, where the run noted it, else the whole source chunk. A chunk
holds a passage if it is of the same document and has at least half of the passage's characters; where no chunk has
half of them, the one that has most does. Where the cut left the passage out of that document (a chunk that was too
short, or said the same as one of another document), any chunk with that sentence in its text holds it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from programs.types import Chunk, Sample


class Passage(NamedTuple):
    """A piece of a document; ``is_sentence`` says whether it is less than a whole chunk."""

    doc_id: str
    start: int
    end: int
    text: str
    is_sentence: bool


Groups = tuple[tuple[Passage, ...], ...]


def asked_about(sample: Sample, chunks: Mapping[str, Chunk]) -> Groups:
    """Return the passages of a sample in the groups of ``retrieval_gt``: one of each group must be found.

    ``chunks`` are the run's by id.
    """
    known = {**chunks, **{chunk.chunk_id: chunk for chunk in sample.contexts}}
    focus = sample.metadata.get("focus") or ()
    sentences = [focus] if isinstance(focus, str) else list(focus)
    return tuple(tuple(_passage(known[name], sentences) for name in group) for group in sample.retrieval_gt)


def _passage(chunk: Chunk, sentences: Sequence[str]) -> Passage:
    for sentence in sentences:
        # Line ends inside a sentence may have become spaces.
        found = re.search(r"\s+".join(map(re.escape, sentence.split())), chunk.text) if sentence.strip() else None
        if found:
            start, end = (chunk.start + offset for offset in found.span())
            return Passage(chunk.doc_id, start, end, found.group(), is_sentence=True)
    return Passage(chunk.doc_id, chunk.start, chunk.end, chunk.text, is_sentence=False)


class PassageFinder:
    """Finds the chunks of one cut that hold a passage."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Look among ``chunks``."""
        self._texts = [" ".join(chunk.text.split()) for chunk in chunks]
        self._spans: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for place, chunk in enumerate(chunks):
            self._spans[chunk.doc_id].append((chunk.start, chunk.end, place))

    def find(self, passage: Passage) -> frozenset[int]:
        """Return the places of the chunks that hold a passage; none if the cut left it out."""
        shares = {
            place: min(end, passage.end) - max(start, passage.start)
            for start, end, place in self._spans[passage.doc_id]
            if start < passage.end and passage.start < end
        }
        if shares:
            half = (passage.end - passage.start) / 2
            most = max(shares, key=lambda place: shares[place])
            return frozenset(place for place, share in shares.items() if share >= half) or frozenset([most])
        sentence = " ".join(passage.text.split())
        return frozenset(place for place, text in enumerate(self._texts) if passage.is_sentence and sentence in text)
