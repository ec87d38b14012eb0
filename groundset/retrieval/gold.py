"""What serves a question beside the chunks of its ``retrieval_gt``: copies, overlapping chunks with
the same evidence, chunks of another size at the same place, and texts of another chunker that hold
a chunk or its evidence.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import regex

from groundset.programs.checks import TELLING, find_quote
from groundset.programs.text import one_line, plain
from groundset.programs.types import Chunk, Sample

Groups = Sequence[Sequence[str]]
_WORD, _BETWEEN = regex.compile(r"[\p{L}\p{N}\p{M}]+"), r"[^\p{L}\p{N}\p{M}]+"
_EDGE = r"(?:(?<![\p{LC}\p{N}])|(?![\p{LC}\p{N}\p{M}]))"  # not within a word, or one without case


class GoldSpan(NamedTuple):
    """The place in a document of what answers a question."""

    doc_id: str
    start: int
    end: int


# Of the groups of a question, in each chunk of a group.
Places = Sequence[Sequence[Sequence[GoldSpan]]]


def gold(samples: Iterable[Sample], chunks: Mapping[str, Chunk]) -> list[Groups]:
    """Return the groups of each sample with all chunks that serve."""
    return holders([gold_spans(sample, chunks) for sample in samples], chunks, whole=True)


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
        serving = [
            [name for name in group if _serves(text, sample, chunks[name])] for group in groups
        ]
        ranking += [names[0] for names in serving if names] or [text]
    return ranking


def _serves(text: str, sample: Sample, chunk: Chunk) -> bool:
    return holds_passage(text, chunk.text, evidence_in(sample, chunk, TELLING))


def holds_passage(text: str, passage: str, evidence: Sequence[str]) -> bool:
    """Return whether a text holds a passage, or all of its evidence."""
    return _has_all(text, [plain(passage)]) or _has_all(text, evidence)


def _has_all(text: str, parts: Sequence[str]) -> bool:
    bare = one_line(plain(text))
    return bool(parts) and all(one_line(part) in bare for part in parts)


def gold_spans(sample: Sample, chunks: Mapping[str, Chunk]) -> Places:
    """Return the places of the evidence in each chunk of each group; a chunk without any is one as
    a whole.
    """
    return [[_spans(sample, chunks[name]) for name in group] for group in sample.retrieval_gt]


def _spans(sample: Sample, chunk: Chunk) -> list[GoldSpan]:
    spans = [find_words(chunk.text, quote) for quote in evidence_in(sample, chunk)]
    return [
        GoldSpan(chunk.doc_id, chunk.start + start, chunk.start + end)
        for start, end in filter(None, spans)
    ] or [GoldSpan(chunk.doc_id, chunk.start, chunk.end)]


def find_words(
    text: str, words: str, start: int = 0, end: int | None = None
) -> tuple[int, int] | None:
    """Return where words stand in a part of a text, whatever case, space, markup and punctuation
    they have there; whole words, in scripts with spaces.
    """
    parts = _WORD.findall(words)
    if not parts:
        return None
    pattern = regex.compile(_EDGE + _BETWEEN.join(parts) + _EDGE, regex.IGNORECASE)
    found = pattern.search(text, start, end)
    return found.span() if found else None


def holders(
    asked: Iterable[Places], chunks: Mapping[str, Chunk], *, whole: bool = False
) -> list[Groups]:
    """Return the chunks that hold half of a place of each group, or lie half in it, or else hold
    all places of a chunk wholly, and their copies; groups that become equal are one.
    """
    copies, inside = defaultdict(list), defaultdict(list)
    for chunk in chunks.values():
        copies[chunk.text].append(chunk.chunk_id)
        inside[chunk.doc_id].append(chunk)
    fits = all if whole else any

    def holding(group: Sequence[Sequence[GoldSpan]]) -> tuple[str, ...]:
        held = [
            chunk
            for spans in group
            for chunk in inside[spans[0].doc_id]
            if fits(_holds(chunk, span, whole) for span in spans)
        ]
        return tuple(sorted({copy for chunk in held for copy in copies[chunk.text]}))

    return [list(dict.fromkeys(map(holding, groups))) for groups in asked]


def _holds(chunk: Chunk, place: GoldSpan, whole: bool) -> bool:
    shared = min(place.end, chunk.end) - max(place.start, chunk.start)
    size = place.end - place.start
    return shared == size if whole else 0 < min(size, chunk.end - chunk.start) <= 2 * shared
