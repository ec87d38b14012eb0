"""Chunks that repeat an earlier one, exactly or nearly."""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from programs.types import Chunk

if TYPE_CHECKING:
    from datasketch import MinHash

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:/-]\d+)*")
_SHINGLE = 3
_PERMUTATIONS = 64
# The index proposes, the exact comparison decides: it may propose a little too much, but not too little.
_SLACK = 0.15
# So many chunks may look alike to the index; of more, as forms are, further ones are dropped only if they are exact.
_MAX_ALIKE = 100
_BATCH = 4_096  # sequences of words that are sketched at once; it takes a kilobyte for each


def drop_duplicates(chunks: Iterable[Chunk], threshold: float = 0.85) -> tuple[list[Chunk], int]:
    """Keep the first of chunks with the same words; also return how many were dropped.

    Near-duplicates share at least ``threshold`` of their three-word sequences (1 leaves only exact ones).
    Chunks whose numbers differ are never duplicates: two rows of a table may differ in nothing else. Nor are
    chunks that overlap in one document, as --chunk-overlap makes them.
    """
    # datasketch imports half of scipy; only runs that come this far wait for it.
    from datasketch import MinHashLSH

    chunks = list(chunks)
    numbers = [_digest(_NUMBER.findall(chunk.text)) for chunk in chunks]
    shared = Counter(numbers)
    kept: list[Chunk] = []
    exact: dict[bytes, Chunk] = {}
    bands = MinHashLSH(threshold=max(0.1, threshold - _SLACK), num_perm=_PERMUTATIONS)
    # One index for each list of numbers that several chunks have.
    indexes: dict[bytes, MinHashLSH] = {}

    @lru_cache(2 * _MAX_ALIKE)
    def sequences(number: int) -> frozenset[str]:
        # Made again when they are asked for: to keep them takes twenty times the memory of the text.
        return _sequences(_words(kept[number]))

    for chunk, own in zip(chunks, numbers, strict=True):
        words = _words(chunk)
        key = own + _digest(words)
        twin = exact.get(key)
        if twin and not _overlap(twin, chunk):
            continue
        if threshold < 1 and shared[own] > 1:
            if own not in indexes:
                indexes[own] = MinHashLSH(num_perm=_PERMUTATIONS, params=(bands.b, bands.r))
            index = indexes[own]
            found = _sequences(words)
            sketch = _sketch(found)
            alike = sorted(index.query(sketch))
            if any(
                _share(found, sequences(other)) >= threshold and not _overlap(chunk, kept[other]) for other in alike
            ):
                continue
            if len(alike) < _MAX_ALIKE:
                index.insert(len(kept), sketch)
        exact.setdefault(key, chunk)
        kept.append(chunk)
    return kept, len(chunks) - len(kept)


def _words(chunk: Chunk) -> list[str]:
    return _WORD.findall(chunk.text.casefold())


def _digest(parts: Sequence[str]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _sequences(words: Sequence[str]) -> frozenset[str]:
    last = max(1, len(words) - _SHINGLE + 1)
    return frozenset(" ".join(words[start : start + _SHINGLE]) for start in range(last))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _sketch(sequences: frozenset[str]) -> "MinHash":
    from datasketch import MinHash

    sketch = MinHash(num_perm=_PERMUTATIONS, hashfunc=zlib.crc32)
    encoded = [sequence.encode() for sequence in sequences]
    for start in range(0, len(encoded), _BATCH):
        sketch.update_batch(encoded[start : start + _BATCH])
    return sketch


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
