"""Training data for retrievers: `train.jsonl`, `dev.jsonl`, `test.jsonl`, with hard negatives.

Columns follow the trainer and ``mine_hard_negatives`` of sentence-transformers: ``anchor``,
``positive``, ``negative_1`` and so on. A question that needs several chunks has a row for each, an
unanswerable one has none. Negatives come from the documents of the same split.

A chunk is no negative if it is in ``retrieval_gt``, overlaps the positive, contains the answer
verbatim, is within ``MARGIN`` of the positive's similarity to the question (TopK-PercPos, the best
rule in NV-Retriever, Moreira et al., 2024), or has a similarity of at least ``NEAR_DUPLICATE`` to
the positive (chosen by hand).

On 100 questions of five runs the judge accepts 38 of the top 500 hits besides the positive, but 26
of the 500 negatives by these rules, of which three did answer their question when read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.exports.sets import EvaluationSet, relevant_ids, split
from groundset.files import write_rows
from groundset.programs.errors import InputError
from groundset.programs.text import has_words
from groundset.programs.types import Chunk, Sample
from groundset.retrieval import embed

NEGATIVES = 5
MARGIN = 0.05
NEAR_DUPLICATE = 0.95
SPLITS = ("train", "dev", "validation", "test")
_SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
_MAX_OMITTED = 0.1  # share of rows that may be left out for having too few negatives
_DEPTH = 64  # the nearest chunks, to be read for the answer
_BATCH = 64  # questions


class Anchor(NamedTuple):
    """A question with the index of one of the chunks that it needs, and its vector."""

    sample: Sample
    positive: int
    vector: NDArray[np.float32]


def write_triplets(found: EvaluationSet, folder: Path) -> None:
    """Write a file for each split that has questions; without splits, documents are split 8:1:1.

    All rows have ``NEGATIVES`` negatives, or fewer if more than a tenth of the rows would otherwise
    be left out.
    """
    samples = [sample for sample in found.samples if sample.retrieval_gt]
    if not samples:
        raise InputError(
            "--format triplets: every question is unanswerable, so no chunk is a positive"
        )
    splits = found.splits
    if splits is None:
        try:
            splits = split(samples, found.chunks, _SHARES)
        except InputError:  # too few documents
            splits = split(samples, found.chunks, {"train": 1.0})
    if unknown := sorted({*splits.samples.values()} - {*SPLITS}):
        raise InputError(
            f"--splits {unknown[0]}: the format triplets has no such split;"
            f" name {', '.join(SPLITS)}"
        )
    vectors = found.vectors()
    asked = embed.open_embedder(found.embedder()).encode([sample.question for sample in samples])
    rows: dict[str, list[list[str]]] = {}
    for name in sorted({*splits.samples.values()}):
        indices = [
            index
            for index, chunk in enumerate(found.chunks)
            if splits.documents[chunk.doc_id] == name
        ]
        chunks = [found.chunks[index] for index in indices]
        index_of = {chunk.chunk_id: index for index, chunk in enumerate(chunks)}
        anchors = [
            Anchor(sample, index_of[group[0]], vector)
            for sample, vector in zip(samples, asked, strict=True)
            if splits.samples[sample.id] == name
            for group in sample.retrieval_gt
        ]
        mined = zip(
            anchors, negatives_of(anchors, chunks, vectors[indices], NEGATIVES), strict=True
        )
        rows[name] = [
            [
                anchor.sample.question,
                chunks[anchor.positive].text,
                *(chunks[index].text for index in negatives),
            ]
            for anchor, negatives in mined
        ]
    lengths = sorted(len(row) for members in rows.values() for row in members)
    length = lengths[int(len(lengths) * _MAX_OMITTED)]
    columns = ("anchor", "positive", *(f"negative_{number}" for number in range(1, length - 1)))
    for name, members in rows.items():
        complete = [dict(zip(columns, row, strict=False)) for row in members if len(row) >= length]
        if complete:
            write_rows(folder / f"{name}.jsonl", complete)


def negatives_of(
    anchors: Sequence[Anchor], chunks: Sequence[Chunk], vectors: NDArray[np.float32], limit: int
) -> Iterator[list[int]]:
    """Yield the indices of up to ``limit`` negatives for each anchor, the most similar to the
    question first.

    ``vectors`` has a unit vector for each chunk.
    """
    for start in range(0, len(anchors), _BATCH):
        batch = anchors[start : start + _BATCH]
        asked, positives = (
            np.stack([each.vector for each in batch]),
            vectors[[each.positive for each in batch]],
        )
        similarity = asked @ vectors.T
        own = np.einsum("ad,ad->a", asked, positives)
        highest = own - MARGIN * np.abs(own)
        similarity[
            (similarity > highest[:, None]) | (positives @ vectors.T >= NEAR_DUPLICATE)
        ] = -np.inf
        for anchor, row in zip(batch, similarity, strict=True):
            nearest = np.argsort(-row, kind="stable")[:_DEPTH]
            allowed = (index for index in nearest[np.isfinite(row[nearest])].tolist())
            good = (
                index
                for index in allowed
                if not _may_answer(chunks[index], anchor, chunks[anchor.positive])
            )
            yield [index for index, _ in zip(good, range(limit), strict=False)]


def _may_answer(chunk: Chunk, anchor: Anchor, positive: Chunk) -> bool:
    overlaps = (
        chunk.doc_id == positive.doc_id
        and chunk.start < positive.end
        and positive.start < chunk.end
    )
    known = chunk.chunk_id in relevant_ids(anchor.sample) or chunk in anchor.sample.contexts
    return known or overlaps or has_words(chunk.text, anchor.sample.answer)
