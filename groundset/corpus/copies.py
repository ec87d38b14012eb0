"""Find chunks that are exact or near copies of an earlier one."""

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from heapq import nsmallest

from programs.types import Chunk

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:[.,:/-]\d+)*")
_SHINGLE = 3  # words
_SHARED = 0.85  # of the shingles of both; chosen by hand
# Chunks that share this much have one of their four smallest hashes in common but in one of 2,000 cases.
_KEYS = 4
_MAX_CANDIDATES = 25  # for each key; with more (form letters), only exact copies are found


def find_copies(chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the ids of copies with the id of the first chunk that they repeat.

    Copies share most of their three-word sequences. Chunks with different numbers are never copies, since table rows
    may differ in nothing else; nor are overlapping chunks of one document.
    """
    groups: defaultdict[tuple[str, ...], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        groups[tuple(_NUMBER.findall(chunk.text))].append(chunk)
    return {name: first for group in groups.values() if len(group) > 1 for name, first in _copies(group).items()}


def _copies(chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the copies among chunks with the same numbers."""
    copies: dict[str, str] = {}
    exact: dict[int, Chunk] = {}
    by_key: defaultdict[int, list[Chunk]] = defaultdict(list)
    sequences = lru_cache(4 * _KEYS * _MAX_CANDIDATES)(_sequences)  # storing all takes twenty times the memory of texts
    for chunk in chunks:
        words = hash(tuple(_WORD.findall(chunk.text.casefold())))
        found = exact.setdefault(words, chunk)
        if found is chunk or _overlap(found, chunk):
            own = sequences(chunk.text)
            keys = nsmallest(_KEYS, own)
            near = {other.chunk_id: other for key in keys for other in by_key[key] if not _overlap(chunk, other)}
            others = ((other, sequences(other.text)) for other in near.values())
            alike = (other for other, theirs in others if len(own & theirs) >= _SHARED * len(own | theirs))
            found = next(alike, chunk)
        if found is not chunk:
            copies[chunk.chunk_id] = found.chunk_id
            if exact[words] is chunk:
                del exact[words]
            continue
        for key in keys:
            if len(by_key[key]) < _MAX_CANDIDATES:
                by_key[key].append(chunk)
    return copies


def _sequences(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    last = max(1, len(words) - _SHINGLE + 1)
    return frozenset(zlib.crc32(" ".join(words[start : start + _SHINGLE]).encode()) for start in range(last))


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
