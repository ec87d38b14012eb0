"""The order in which chunks are drawn, so that any number of them covers the documents evenly."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from programs.types import Chunk


def draw_order(chunks: Iterable[Chunk], seed: int) -> list[Chunk]:
    """Order chunks in rounds: one of every document, then a second of each, both shuffled by the seed.

    The order depends on ids and the seed alone, not on the order of the input, and a document more or less
    leaves the order of the others as it was.
    """
    documents: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        documents[chunk.doc_id].append(chunk)
    ranked = [
        (round_, by_chance(seed, doc_id), chunk)
        for doc_id, members in documents.items()
        for round_, chunk in enumerate(sorted(members, key=lambda chunk: by_chance(seed, chunk.chunk_id)))
    ]
    return [chunk for *_, chunk in sorted(ranked, key=lambda row: row[:2])]


def by_chance(seed: int, name: str) -> tuple[bytes, str]:
    """Rank a name as if by chance; a hash does so the same on every machine and Python."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest(), name
