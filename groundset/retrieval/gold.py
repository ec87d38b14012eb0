"""What serves a question beside the chunks of its ``retrieval_gt``: copies, overlapping chunks with
the same evidence, chunks of another size at the same place, and texts of another chunker that hold
a chunk or its evidence.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from groundset.programs.checks import TELLING, find_quote
from groundset.programs.languages import LANGUAGES
from groundset.programs.text import one_line, plain
from groundset.programs.types import Chunk, Document, Sample

Groups = list[list[str]]
_AROUND = 200  # characters


class GoldSpan(NamedTuple):
    """The place in a document of what answers a question."""

    doc_id: str
    start: int
    end: int


def gold(samples: Sequence[Sample], chunks: Mapping[str, Chunk]) -> list[Groups]:
    """Return the groups of each sample with all chunks that serve; those that become equal are
    one.
    """
    copies, neighbours = _copies_and_neighbours(chunks)
    found = []
    for sample in samples:
        groups: dict[frozenset[str], list[str]] = {}
        for group in sample.retrieval_gt:
            serving = dict.fromkeys(group)
            for own in map(chunks.__getitem__, group):
                near = (each for each in neighbours[own.doc_id] if _overlap(sample, own, each))
                same = (copy for each in (own, *near) for copy in copies[each.text])
                serving |= dict.fromkeys(same)
            groups.setdefault(frozenset(serving), list(serving))
        found.append(list(groups.values()))
    return found


def _copies_and_neighbours(
    chunks: Mapping[str, Chunk],
) -> tuple[Mapping[str, list[str]], Mapping[str, list[Chunk]]]:
    """Return the ids of chunks by their text, and the chunks of each document."""
    copies, neighbours = defaultdict(list), defaultdict(list)
    for chunk in chunks.values():
        copies[chunk.text].append(chunk.chunk_id)
        neighbours[chunk.doc_id].append(chunk)
    return copies, neighbours


def _overlap(sample: Sample, own: Chunk, other: Chunk) -> bool:
    """Return whether the evidence of a chunk lies in what another one shares with it."""
    start, end = max(own.start, other.start), min(own.end, other.end)
    if start >= end:
        return False
    shared = own.text[start - own.start : end - own.start]
    return _has_all(shared, evidence_in(sample, own))


def evidence_in(sample: Sample, chunk: Chunk, shortest: int = 0) -> list[str]:
    """Return the evidence of a sample that stands in a chunk, as it stands there."""
    quotes = [quote for quote in sample.evidence if len(quote) >= shortest]
    return list(filter(None, (find_quote(chunk.passage, quote) for quote in quotes)))


def as_chunks(
    texts: Sequence[str], sample: Sample, groups: Groups, chunks: Mapping[str, Chunk]
) -> list[str]:
    """Return a ranking of texts as chunks of the groups that they hold; other texts keep their
    place.
    """
    ranking = []
    for text in texts:
        held = [
            name
            for group in groups
            for name in group[:1]
            if holds_passage(text, chunks[name].text, evidence_in(sample, chunks[name], TELLING))
        ]
        ranking += held or [text]
    return ranking


def holds_passage(text: str, passage: str, evidence: Sequence[str]) -> bool:
    """Return whether a text holds a passage, or all of its evidence."""
    return _has_all(text, [plain(passage)]) or _has_all(text, evidence)


def _has_all(text: str, parts: Sequence[str]) -> bool:
    bare = one_line(plain(text))
    return bool(parts) and all(one_line(part) in bare for part in parts)


def gold_spans(sample: Sample, chunks: Mapping[str, Chunk]) -> list[list[GoldSpan]]:
    """Return the places of the evidence of each group; a chunk without any is one as a whole."""
    return [
        [place for name in group for place in _places(sample, chunks[name])]
        for group in sample.retrieval_gt
    ]


def _places(sample: Sample, chunk: Chunk) -> list[GoldSpan]:
    spans = [find_words(chunk.text, quote) for quote in evidence_in(sample, chunk)]
    return [
        GoldSpan(chunk.doc_id, chunk.start + start, chunk.start + end)
        for start, end in filter(None, spans)
    ] or [GoldSpan(chunk.doc_id, chunk.start, chunk.end)]


def find_words(text: str, words: str) -> tuple[int, int] | None:
    """Return where words stand in a text, whatever space, markup and punctuation is between
    them.
    """
    parts = re.findall(r"[^\W_]+", words)
    found = re.search(r"[\W_]+".join(parts), text, re.IGNORECASE) if parts else None
    return found.span() if found else None


def holders(
    asked: Iterable[Sequence[Sequence[GoldSpan]]], chunks: Mapping[str, Chunk]
) -> list[Groups]:
    """Return the chunks that hold half of a passage of each group, or lie half in it, with their
    copies.
    """
    copies, inside = _copies_and_neighbours(chunks)

    def holding(group: Sequence[GoldSpan]) -> list[str]:
        held = [
            chunk for place in group for chunk in inside[place.doc_id] if _shares_half(place, chunk)
        ]
        return list(dict.fromkeys(copy for chunk in held for copy in copies[chunk.text]))

    return [list(map(holding, groups)) for groups in asked]


def _shares_half(place: GoldSpan, chunk: Chunk) -> bool:
    shared = min(place.end, chunk.end) - max(place.start, chunk.start)
    return shared > 0 and 2 * shared >= min(place.end - place.start, chunk.end - chunk.start)


def words_near_gold(
    sample: Sample, groups: Sequence[Sequence[GoldSpan]], documents: Mapping[str, Document]
) -> float:
    """Return the share of the content words of a question that stand near one of its passages, the
    highest of all.
    """
    return max(
        LANGUAGES[sample.language].shared_words(
            sample.question,
            documents[place.doc_id].text[max(0, place.start - _AROUND) : place.end + _AROUND],
        )
        for group in groups
        for place in group
    )
