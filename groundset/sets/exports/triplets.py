"""Rows to train a retriever with: `train.jsonl`, `dev.jsonl`, `test.jsonl`.

The columns of sentence-transformers' trainer, in the order in which its losses read them: ``anchor``, ``positive``,
``negative_1`` and so on, as its ``mine_hard_negatives`` names them. A question that needs several chunks has a row for
each. Splits are those of :mod:`groundset.sets.exports.splits`; the negatives of a split are chunks of its own
documents, mined as :mod:`groundset.sets.negatives` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.files import write_rows
from groundset.sets.exports.base import Export
from groundset.sets.exports.splits import Splits, split_by_document
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run

NEGATIVES = 5
SPLITS = ("train", "dev", "validation", "test")
_SHARE_OF_ROWS = 0.1  # may be left out for having fewer negatives than the others


class _Row(NamedTuple):
    anchor: str
    positive: str
    negatives: list[str]


def write_triplets(run: "Run", folder: Path) -> None:
    """Write a file for each split that has questions.

    All rows have as many negatives, ``NEGATIVES`` unless more than a tenth of them would then be left out: in a corpus
    of a few chunks there are not as many.

    Raises:
        InputError: the run has other splits, or splits that share a document.
    """
    splits = split_by_document(run)
    names = sorted(set(splits.samples.values()))
    strange = [name for name in names if name not in SPLITS]
    if strange:
        raise InputError(f"--format triplets: writes the splits {', '.join(SPLITS)}, and the run has {strange[0]!r}")
    vectors = run.chunk_vectors
    questions = {sample.id: row for sample, row in zip(run.samples, run.question_vectors, strict=True)}
    rows = {name: list(_rows(run, splits, name, vectors, questions)) for name in names}
    counts = sorted(len(row.negatives) for found in rows.values() for row in found)
    count = counts[int(len(counts) * _SHARE_OF_ROWS)]
    for name, found in rows.items():
        complete = [_columns(row, count) for row in found if len(row.negatives) >= count]
        if complete:
            write_rows(folder / f"{name}.jsonl", complete)


def _rows(run: "Run", splits: Splits, split: str, vectors: Any, questions: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the rows of a split, with negatives from its own documents."""
    from groundset.sets.negatives import Anchor, mine

    places = [place for place, chunk in enumerate(run.chunks) if splits.documents[chunk.doc_id] == split]
    chunks = [run.chunks[place] for place in places]
    place_of = {chunk.chunk_id: place for place, chunk in enumerate(chunks)}
    anchors = [
        Anchor(sample, place_of[group[0]], questions[sample.id])
        for sample in run.samples
        if splits.samples[sample.id] == split
        for group in sample.retrieval_gt
    ]
    for anchor, negatives in zip(anchors, mine(anchors, chunks, vectors[places], NEGATIVES), strict=True):
        texts = [chunks[place].text for place in negatives]
        yield _Row(anchor.sample.question, chunks[anchor.positive].text, texts)


def _columns(row: _Row, count: int) -> dict[str, str]:
    negatives = {f"negative_{number}": text for number, text in enumerate(row.negatives[:count], 1)}
    return {"anchor": row.anchor, "positive": row.positive, **negatives}


EXPORT = Export(
    "triplets",
    "train.jsonl, dev.jsonl and test.jsonl, to train a retriever",
    write_triplets,
    tuple(f"{name}.jsonl" for name in SPLITS),
    last="train.jsonl",
    corpus=False,
)
