"""Chunks that say the same as an earlier one, word for word or nearly so."""

import re
import zlib
from collections.abc import Iterable, Sequence
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


def drop_duplicates(chunks: Iterable[Chunk], threshold: float = 0.85) -> tuple[list[Chunk], int]:
    """Keep the first of chunks with the same words; also return how many were dropped.

    Near-duplicates share at least ``threshold`` of their three-word sequences (1 leaves only exact ones).
    Chunks whose numbers differ are never duplicates: two rows of a table may differ in nothing else. Nor are
    chunks that overlap in one document, since they were asked to.
    """
    # datasketch imports half of scipy; only runs that come this far wait for it.
    from datasketch import MinHashLSH

    kept: list[Chunk] = []
    exact: dict[tuple[str, ...], Chunk] = {}
    shingles: list[frozenset[str]] = []
    index = MinHashLSH(threshold=max(0.1, threshold - _SLACK), num_perm=_PERMUTATIONS)
    dropped = 0
    for chunk in chunks:
        words = tuple(_WORD.findall(chunk.text.casefold()))
        found = _shingles(words)
        sketch = _sketch(found)
        twin = exact.get(words)
        near = threshold < 1 and any(
            _is_near(chunk, kept[other], found, shingles[other], threshold) for other in index.query(sketch)
        )
        if (twin and _same_numbers(twin, chunk) and not _overlap(twin, chunk)) or near:
            dropped += 1
            continue
        index.insert(len(kept), sketch)
        exact.setdefault(words, chunk)
        shingles.append(found)
        kept.append(chunk)
    return kept, dropped


def _is_near(chunk: Chunk, other: Chunk, found: frozenset[str], others: frozenset[str], threshold: float) -> bool:
    shared = len(found & others) / max(1, len(found | others))
    return shared >= threshold and _same_numbers(chunk, other) and not _overlap(chunk, other)


def _shingles(words: Sequence[str]) -> frozenset[str]:
    last = max(1, len(words) - _SHINGLE + 1)
    return frozenset(" ".join(words[start : start + _SHINGLE]) for start in range(last))


def _sketch(shingles: frozenset[str]) -> "MinHash":
    from datasketch import MinHash

    sketch = MinHash(num_perm=_PERMUTATIONS, hashfunc=zlib.crc32)
    sketch.update_batch([shingle.encode() for shingle in shingles])
    return sketch


def _same_numbers(one: Chunk, other: Chunk) -> bool:
    return _NUMBER.findall(one.text) == _NUMBER.findall(other.text)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
