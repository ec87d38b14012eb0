"""What serves a question beside the chunks of its ``retrieval_gt``: copies, overlapping chunks with
the same evidence, and texts of another chunker that hold a chunk or its evidence.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from groundset.programs.checks import TELLING, find_quote
from groundset.programs.text import one_line, plain
from groundset.programs.types import Chunk, Sample

Groups = list[list[str]]


def gold(samples: Sequence[Sample], chunks: Mapping[str, Chunk]) -> list[Groups]:
    """Return the groups of each sample with all chunks that serve; those that become equal are
    one.
    """
    copies, neighbours = defaultdict(list), defaultdict(list)
    for chunk in chunks.values():
        copies[chunk.text].append(chunk.chunk_id)
        neighbours[chunk.doc_id].append(chunk)
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
    return list(filter(None, (find_quote(plain(chunk.text), quote) for quote in quotes)))


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
