"""Hard negatives: chunks that a search finds for a question, and that do not answer it.

A chunk that answers a question and is called a negative teaches a retriever the wrong thing. So none is taken

- that the question counts as found with, any alternative included, or that shares text with the positive;
- that is nearly as similar to the question as the positive, by ``MARGIN`` of the positive's similarity: the rule that
  did best in NV-Retriever (Moreira et al., 2024), which calls it TopK-PercPos;
- whose similarity to the positive is ``NEAR_DUPLICATE`` or more (set by hand);
- that has the words of the answer in a row.

On 100 questions of five runs (English; encyclopaedia, law, manuals; some of the same documents) the critic of questions
accepts 38 of the 500 chunks that a search finds first besides the positive, and 26 of the 500 that are taken instead.
Read one by one, three of these 26 answer their question, each of them "What is …?", and none of 40 drawn from the rest.
The margin stops 51 of the first 500, the words of the answer 41.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.retrieval.stores import Vectors, open_store
from groundset.sets.exports.base import relevant_ids
from programs.text import has_words
from programs.types import Chunk, Sample

MARGIN = 0.05
NEAR_DUPLICATE = 0.95
_DEPTH = 64  # chunks that are looked at of those found first
_DRAWS = 128  # and of all, where these do not do: a question that finds its positive late
_AT_ONCE = 512  # questions

Places = NDArray[np.int64]


class Anchor(NamedTuple):
    """A question and one of the chunks that it needs, by its place among the chunks; ``vector`` is the question's."""

    sample: Sample
    positive: int
    vector: Vectors


def mine(anchors: Sequence[Anchor], chunks: Sequence[Chunk], vectors: Vectors, wanted: int) -> Iterator[list[int]]:
    """Yield for each anchor the places of up to ``wanted`` negatives among ``chunks``.

    The most similar to the question come first. Where a search does not find enough, because the question finds its
    positive late or not at all, chunks drawn by chance that keep the same rules follow. ``vectors`` has a row of length
    one for each chunk.
    """
    chance = np.random.default_rng(0)
    with open_store("faiss", [chunk.chunk_id for chunk in chunks], vectors) as store:
        for start in range(0, len(anchors), _AT_ONCE):
            part = anchors[start : start + _AT_ONCE]
            kept: list[list[int]] = [[] for _ in part]
            found = store.search(np.stack([anchor.vector for anchor in part]), _DEPTH).indexes
            _keep(kept, part, found, chunks, vectors, wanted)
            lacking = [place for place, names in enumerate(kept) if len(names) < wanted]
            if lacking and len(chunks) > _DEPTH:
                drawn = chance.integers(len(chunks), size=(len(lacking), _DRAWS))
                few = [kept[place] for place in lacking]
                _keep(few, [part[place] for place in lacking], drawn, chunks, vectors, wanted)
            yield from kept


def _keep(
    kept: Sequence[list[int]],
    anchors: Sequence[Anchor],
    places: Places,
    chunks: Sequence[Chunk],
    vectors: Vectors,
    wanted: int,
) -> None:
    """Add to what is kept for each anchor, up to ``wanted``, those of its row of ``places`` that keep the rules."""
    questions = np.stack([anchor.vector for anchor in anchors])
    positives = vectors[[anchor.positive for anchor in anchors]]
    likeness = np.einsum("pd,pd->p", questions, positives)
    looked_at = vectors[places]
    to_question = np.einsum("pd,pld->pl", questions, looked_at)
    to_positive = np.einsum("pd,pld->pl", positives, looked_at)
    limits = likeness - MARGIN * np.abs(likeness)
    far = (to_question <= limits[:, None]) & (to_positive < NEAR_DUPLICATE)
    for names, anchor, row, is_far in zip(kept, anchors, places, far, strict=True):
        for place in row[is_far].tolist():
            if len(names) == wanted:
                break
            if place not in names and not _may_answer(chunks[place], anchor, chunks[anchor.positive]):
                names.append(place)


def _may_answer(chunk: Chunk, anchor: Anchor, positive: Chunk) -> bool:
    """Return whether a chunk may answer the question of an anchor, by what is known of it and by its words."""
    known = chunk.chunk_id in relevant_ids(anchor.sample) or chunk in anchor.sample.contexts
    return known or _overlap(chunk, positive) or has_words(chunk.text, anchor.sample.answer)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
