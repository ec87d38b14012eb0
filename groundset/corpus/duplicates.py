"""Drop chunks that are exact or near-duplicates of an earlier one."""

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
# The LSH index proposes candidates for an exact comparison, so its threshold is lower.
_SLACK = 0.15
# Maximum LSH candidates compared; beyond this (form letters) only exact duplicates are dropped.
_MAX_CANDIDATES = 100
_BATCH = 4_096  # word sequences hashed at once, a kilobyte each


def drop_duplicates(chunks: Iterable[Chunk], threshold: float = 0.85) -> tuple[list[Chunk], int]:
    """Keep the first of chunks with the same words; also return how many were dropped.

    Near-duplicates share at least ``threshold`` of their three-word sequences (1 drops only exact duplicates).
    Chunks with different numbers are never duplicates, since table rows may differ in nothing else. Nor are
    overlapping chunks of one document, as --chunk-overlap makes them.
    """
    from datasketch import MinHashLSH  # imports half of scipy

    chunks = list(chunks)
    numbers = [_digest(_NUMBER.findall(chunk.text)) for chunk in chunks]
    shared = Counter(numbers)
    kept: list[Chunk] = []
    exact: dict[bytes, Chunk] = {}
    bands = MinHashLSH(threshold=max(0.1, threshold - _SLACK), num_perm=_PERMUTATIONS)
    # One index for each list of numbers that occurs in several chunks.
    indexes: dict[bytes, MinHashLSH] = {}

    @lru_cache(2 * _MAX_CANDIDATES)
    def sequences(number: int) -> frozenset[str]:
        # Recomputed on demand: storing them takes twenty times the memory of the text.
        return _sequences(_words(kept[number]))

    for chunk, numbers_key in zip(chunks, numbers, strict=True):
        words = _words(chunk)
        key = numbers_key + _digest(words)
        duplicate = exact.get(key)
        if duplicate and not _overlap(duplicate, chunk):
            continue
        if threshold < 1 and shared[numbers_key] > 1:
            if numbers_key not in indexes:
                indexes[numbers_key] = MinHashLSH(num_perm=_PERMUTATIONS, params=(bands.b, bands.r))
            index = indexes[numbers_key]
            current = _sequences(words)
            minhash = _minhash(current)
            candidates = sorted(index.query(minhash))
            if any(
                _jaccard(current, sequences(other)) >= threshold and not _overlap(chunk, kept[other])
                for other in candidates
            ):
                continue
            if len(candidates) < _MAX_CANDIDATES:
                index.insert(len(kept), minhash)
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


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _minhash(sequences: frozenset[str]) -> "MinHash":
    from datasketch import MinHash

    minhash = MinHash(num_perm=_PERMUTATIONS, hashfunc=zlib.crc32)
    encoded = [sequence.encode() for sequence in sequences]
    for start in range(0, len(encoded), _BATCH):
        minhash.update_batch(encoded[start : start + _BATCH])
    return minhash


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
