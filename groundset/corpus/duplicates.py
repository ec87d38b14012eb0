"""Drop chunks that are exact or near-duplicates of an earlier one."""

import hashlib
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from groundset.executors import LOCAL, Executor
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
_CHARACTERS_OF_PART = 200_000
_CHARACTERS_EACH = 2_000_000  # with fewer for each process, starting it takes longer than the search


def drop_duplicates(
    chunks: Iterable[Chunk], threshold: float = 0.85, executor: Executor = LOCAL
) -> tuple[list[Chunk], int]:
    """Keep the first of chunks with the same words; also return how many were dropped.

    Near-duplicates share at least ``threshold`` of their three-word sequences (1 drops only exact duplicates).
    Chunks with different numbers are never duplicates, since table rows may differ in nothing else. Nor are
    overlapping chunks of one document, as --chunk-overlap makes them. So chunks with the same numbers are searched by
    themselves, where ``executor`` does it; many of them are divided by what they share.
    """
    chunks = list(chunks)
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for index, chunk in enumerate(chunks):
        groups[_digest(_NUMBER.findall(chunk.text))].append(index)
    shared = [group for group in groups.values() if len(group) > 1]
    if threshold < 1:
        shared = list(_divided(shared, chunks, threshold, executor))
    if not shared:
        return chunks, 0
    characters = sum(len(chunks[index].text) for group in shared for index in group)
    parts = list(_packed(shared, [len(chunk.text) for chunk in chunks]))
    items = ([[chunks[index] for index in group] for group in part] for part in parts)
    worth = min(len(parts), characters / _CHARACTERS_EACH)
    dropped: set[int] = set()
    with closing(executor.map(_FindDuplicates(threshold), items, parts=worth)) as found:
        for part, answers in zip(parts, found, strict=True):
            for group, duplicates in zip(part, answers, strict=True):
                dropped.update(group[position] for position in duplicates)
    return [chunk for index, chunk in enumerate(chunks) if index not in dropped], len(dropped)


def _divided(
    groups: Iterable[list[int]], chunks: Sequence[Chunk], threshold: float, executor: Executor
) -> Iterator[list[int]]:
    """Yield groups, large ones divided into those that are linked by candidates for a comparison.

    The search compares no others, so it finds the same duplicates in the parts.
    """
    for group in groups:
        parts = list(_packed(([index] for index in group), [len(chunk.text) for chunk in chunks]))
        if len(parts) == 1:
            yield group
            continue
        items = ([chunks[index] for [index] in part] for part in parts)
        worth = min(len(parts), sum(len(chunks[index].text) for index in group) / _CHARACTERS_EACH)
        with closing(executor.map(_HashBands(threshold), items, parts=worth)) as found:
            linked = _linked(list(chain.from_iterable(found)))
        yield from ([group[position] for position in positions] for positions in linked)


def _linked(keys: Sequence[Sequence[bytes]]) -> Iterator[list[int]]:
    """Yield the positions that are linked by shared keys, directly or not; none for those without a link."""
    parent = list(range(len(keys)))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = position = parent[parent[position]]
        return position

    first: dict[bytes, int] = {}
    for position, key in ((position, key) for position, each in enumerate(keys) for key in each):
        one, other = root(position), root(first.setdefault(key, position))
        parent[max(one, other)] = min(one, other)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for position in range(len(keys)):
        found[root(position)].append(position)
    return (positions for positions in found.values() if len(positions) > 1)


@dataclass(frozen=True)
class _HashBands:
    """An operator that returns the hash of each band of the MinHash of chunks."""

    threshold: float

    @contextmanager
    def load(self) -> Iterator[Callable[[list[Chunk]], list[list[bytes]]]]:
        """Yield a function that hashes a list of chunks."""
        bands, rows = _bands(self.threshold)
        yield lambda chunks: [_hashed(chunk, bands, rows) for chunk in chunks]

    def name(self, item: list[Chunk]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"duplicates of chunks {item[0].chunk_id} to {item[-1].chunk_id}"


def _hashed(chunk: Chunk, bands: int, rows: int) -> list[bytes]:
    values = _minhash(_sequences(_words(chunk))).hashvalues
    parts = (values[band * rows : (band + 1) * rows].tobytes() for band in range(bands))
    return [hashlib.blake2b(part, digest_size=8, salt=band.to_bytes(2)).digest() for band, part in enumerate(parts)]


def _bands(threshold: float) -> tuple[int, int]:
    """Return the number of bands of the LSH index and their length."""
    from datasketch import MinHashLSH  # imports half of scipy

    lsh = MinHashLSH(threshold=max(0.1, threshold - _SLACK), num_perm=_PERMUTATIONS)
    return lsh.b, lsh.r


def _packed(groups: Iterable[list[int]], lengths: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield lists of groups with at least ``_CHARACTERS_OF_PART`` characters, if there are as many."""
    part: list[list[int]] = []
    characters = 0
    for group in groups:
        part.append(group)
        characters += sum(lengths[index] for index in group)
        if characters >= _CHARACTERS_OF_PART:
            yield part
            part, characters = [], 0
    if part:
        yield part


@dataclass(frozen=True)
class _FindDuplicates:
    """An operator that finds the duplicates in groups of chunks with the same numbers."""

    threshold: float

    @contextmanager
    def load(self) -> Iterator[Callable[[list[list[Chunk]]], list[list[int]]]]:
        """Yield a function that returns the positions of duplicates in each group."""
        bands = _bands(self.threshold)
        yield lambda groups: [_duplicates(group, self.threshold, bands) for group in groups]

    def name(self, item: list[list[Chunk]]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"duplicates of chunks {item[0][0].chunk_id} to {item[-1][-1].chunk_id}"


def _duplicates(chunks: Sequence[Chunk], threshold: float, bands: tuple[int, int]) -> list[int]:
    """Return the positions of the duplicates among chunks with the same numbers."""
    from datasketch import MinHashLSH

    kept: list[Chunk] = []
    dropped: list[int] = []
    exact: dict[bytes, Chunk] = {}
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=bands)

    @lru_cache(2 * _MAX_CANDIDATES)
    def sequences(number: int) -> frozenset[str]:
        # Recomputed on demand: storing them takes twenty times the memory of the text.
        return _sequences(_words(kept[number]))

    for position, chunk in enumerate(chunks):
        words = _words(chunk)
        key = _digest(words)
        duplicate = exact.get(key)
        if duplicate and not _overlap(duplicate, chunk):
            dropped.append(position)
            continue
        if threshold < 1:
            current = _sequences(words)
            minhash = _minhash(current)
            candidates = sorted(index.query(minhash))
            if any(
                _jaccard(current, sequences(other)) >= threshold and not _overlap(chunk, kept[other])
                for other in candidates
            ):
                dropped.append(position)
                continue
            if len(candidates) < _MAX_CANDIDATES:
                index.insert(len(kept), minhash)
        exact.setdefault(key, chunk)
        kept.append(chunk)
    return dropped


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
