"""Which chunks a question about several can be asked about.

They are alike (by their embeddings) but tell different things: neither neighbours in a document nor near-copies, and no
title pages. Those that share a rare name come first, since one describes what the other tells of (a bridge); then those
under like headings, which can be compared.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from programs.languages import LANGUAGES, language_of
from programs.text import NAME, tokens
from programs.types import Chunk, Hit

_ALIKE, _COPY = 0.5, 0.9  # cosine similarities
_NEAR = 20  # nearest chunks that are considered
_SHORTEST = 200  # characters of a text that tells something; title pages have less
_COMMONEST = 6  # chunks that a rare name occurs in, at most
_NAMES = re.compile(rf"(?<![.!?:\n] )(?<!^)(?<!\n)\b{NAME}(?: {NAME})*")  # not the first word of a sentence
_SHORTEST_NAME = 4


class Pairs:
    """Finds groups of chunks for the chunk that they start from."""

    def __init__(
        self,
        chunks: Mapping[str, Chunk],
        nearest: Callable[[str, int], Sequence[Hit]],
        *,
        is_usable: Callable[[Chunk], bool] = lambda _: True,
        sizes: tuple[int, int] = (2, 2),
        across_documents: bool = False,
    ) -> None:
        """Look at the chunks of a run.

        Args:
            chunks: all chunks by id, in the order of the documents.
            nearest: returns the chunks most similar to one, the most similar first.
            is_usable: whether questions may be asked about a chunk.
            sizes: fewest and most chunks of a group.
            across_documents: whether the chunks of a group must be from different documents.
        """
        self._chunks, self._nearest, self._is_usable = chunks, nearest, is_usable
        self._sizes, self._across = sizes, across_documents
        self._places = {chunk_id: place for place, chunk_id in enumerate(chunks)}

    def partners(self, chunk_id: str) -> list[tuple[str, ...]]:
        """Return groups of others for a chunk, the best first."""
        found = self._ranked(chunk_id)
        fewest, most = self._sizes
        groups = []
        for first in range(len(found)):
            group: list[str] = []
            for other in found[first:]:
                if len(group) + 1 < most and all(self._fit(other, one) for one in (chunk_id, *group)):
                    group.append(other)
            if len(group) + 1 >= fewest:
                groups.append(tuple(group))
        return groups

    def _ranked(self, chunk_id: str) -> list[str]:
        chunk = self._chunks[chunk_id]
        if len(chunk.text) < _SHORTEST:
            return []
        similarities = {hit.chunk_id: hit.similarity for hit in self._nearest(chunk_id, _NEAR)}
        names, topic = self._names[chunk_id], set(tokens(chunk.headings[-1])) if chunk.headings else set()
        code, ranked = language_of(chunk.text), []
        for other_id, similarity in similarities.items():
            other = self._chunks[other_id]
            if not _ALIKE <= similarity < _COPY or not self._fit(chunk_id, other_id):
                continue
            if len(other.text) < _SHORTEST or language_of(other.text) != code or not self._is_usable(other):
                continue
            like = topic & set(tokens(other.headings[-1])) if other.headings else set()
            ranked.append((len(names & self._names[other_id]) > 0, bool(like), similarity, other_id))
        return [row[-1] for row in sorted(ranked, key=lambda row: row[:3], reverse=True)]

    def _fit(self, first: str, second: str) -> bool:
        """Return whether two chunks can be of one group: neither the same nor neighbours."""
        one, two = self._chunks[first], self._chunks[second]
        if one.doc_id != two.doc_id:
            return one.text != two.text
        return not self._across and abs(self._places[first] - self._places[second]) > 1

    @cached_property
    def _names(self) -> Mapping[str, frozenset[str]]:
        """Return the names in each chunk that a few others have too."""
        places = defaultdict(set)
        for chunk_id, chunk in self._chunks.items():
            common = LANGUAGES[language_of(chunk.text)].stop_words
            for name in _NAMES.findall(chunk.text):
                if len(name) >= _SHORTEST_NAME and name.casefold() not in common:
                    places[name].add(chunk_id)
        rare: dict[str, set[str]] = defaultdict(set)
        for name, ids in places.items():
            for chunk_id in ids if 1 < len(ids) <= _COMMONEST else ():
                rare[chunk_id].add(name)
        return defaultdict(frozenset, {chunk_id: frozenset(found) for chunk_id, found in rare.items()})
