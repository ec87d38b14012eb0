"""Training data for retrievers: `train.jsonl`, `dev.jsonl`, `test.jsonl`.

Columns follow the trainer and ``mine_hard_negatives`` of sentence-transformers: ``anchor``, ``positive``,
``negative_1`` and so on. A question that needs several chunks has a row for each, an unanswerable one has none. Splits
are those of the run, or drawn by document. Negatives come from the documents of the same split
(:mod:`groundset.sets.negatives`).
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.files import write_rows
from groundset.sets.exports.base import Export, relevant_ids
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run

NEGATIVES = 5
SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
SPLITS = ("train", "dev", "validation", "test")
_MAX_OMITTED = 0.1  # share of rows that may be left out for having too few negatives


class Splits(NamedTuple):
    """The split of every sample and document, by id."""

    samples: dict[str, str]
    documents: dict[str, str]


class _Row(NamedTuple):
    anchor: str
    positive: str
    negatives: list[str]


def write_triplets(run: "Run", folder: Path) -> None:
    """Write a file for each split that has questions.

    All rows have ``NEGATIVES`` negatives, or fewer if more than a tenth of the rows would otherwise be left out.
    """
    run = run.only(index for index, sample in enumerate(run.samples) if sample.answerable)
    if not run.samples:
        raise InputError("--format triplets: every question of the run is unanswerable; there is no positive chunk")
    splits = split_by_document(run)
    names = sorted(set(splits.samples.values()))
    unsupported = [name for name in names if name not in SPLITS]
    if unsupported:
        raise InputError(f"--format triplets: unsupported split {unsupported[0]!r}; supported: {', '.join(SPLITS)}")
    vectors = run.chunk_vectors
    questions = {sample.id: row for sample, row in zip(run.samples, run.question_vectors, strict=True)}
    rows = {name: list(_rows(run, splits, name, vectors, questions)) for name in names}
    counts = sorted(len(row.negatives) for split in rows.values() for row in split)
    count = counts[int(len(counts) * _MAX_OMITTED)]
    for name, split in rows.items():
        complete = [_columns(row, count) for row in split if len(row.negatives) >= count]
        if complete:
            write_rows(folder / f"{name}.jsonl", complete)


def _rows(run: "Run", splits: Splits, split: str, vectors: Any, questions: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the rows of a split."""
    from groundset.sets.negatives import Anchor, mine

    indices = [index for index, chunk in enumerate(run.chunks) if splits.documents[chunk.doc_id] == split]
    chunks = [run.chunks[index] for index in indices]
    index_of = {chunk.chunk_id: index for index, chunk in enumerate(chunks)}
    anchors = [
        Anchor(sample, index_of[group[0]], questions[sample.id])
        for sample in run.samples
        if splits.samples[sample.id] == split
        for group in sample.retrieval_gt
    ]
    for anchor, negatives in zip(anchors, mine(anchors, chunks, vectors[indices], NEGATIVES), strict=True):
        texts = [chunks[index].text for index in negatives]
        yield _Row(anchor.sample.question, chunks[anchor.positive].text, texts)


def _columns(row: _Row, count: int) -> dict[str, str]:
    negatives = {f"negative_{number}": text for number, text in enumerate(row.negatives[:count], 1)}
    return {"anchor": row.anchor, "positive": row.positive, **negatives}


def split_by_document(run: "Run") -> Splits:
    """Return the splits of a run if every sample has one, else draw them by document.

    Documents that answer the same question stay together. About a tenth of the questions each go to ``dev`` and
    ``test``, and at least one document each if there are three; the others go to ``train``. The draw depends on ids
    only, not on their order. Documents without questions are distributed like the questions.
    """
    doc_ids = {chunk.chunk_id: chunk.doc_id for chunk in run.chunks}
    needed = {sample.id: [doc_ids[group[0]] for group in sample.retrieval_gt] for sample in run.samples}
    own_splits = {sample.id: sample.split for sample in run.samples if sample.split}
    if len(own_splits) == len(needed):
        split_of = _document_splits(needed, own_splits)
    else:
        # Documents of alternative chunks count too: they also hold the answer.
        split_of = _drawn({sample.id: [doc_ids[name] for name in relevant_ids(sample)] for sample in run.samples})
    samples = {name: split_of[documents[0]] for name, documents in needed.items()}
    others = Counter(chunk.doc_id for chunk in run.chunks if chunk.doc_id not in split_of)
    return Splits(samples, split_of | _distribute(others, Counter(sorted(samples.values()))))


def _document_splits(needed: Mapping[str, Sequence[str]], splits: Mapping[str, str]) -> dict[str, str]:
    by_document: dict[str, str] = {}
    for name, documents in needed.items():
        for doc_id in documents:
            if by_document.setdefault(doc_id, splits[name]) != splits[name]:
                raise InputError(
                    f"document {doc_id} is in the splits {by_document[doc_id]} and {splits[name]}; "
                    "split the run again with `groundset split`"
                )
    return by_document


def _drawn(needed: Mapping[str, Sequence[str]]) -> dict[str, str]:
    from scipy.cluster.hierarchy import DisjointSet

    linked = DisjointSet(doc_id for documents in needed.values() for doc_id in documents)
    for first, *others in needed.values():
        for other in others:
            linked.merge(first, other)
    names = {doc_id: min(subset) for subset in linked.subsets() for doc_id in subset}
    if len(set(names.values())) < len(SHARES):
        return dict.fromkeys(names, max(SHARES, key=lambda split: SHARES[split]))
    splits = _distribute(Counter(names[documents[0]] for documents in needed.values()), SHARES)
    return {doc_id: splits[name] for doc_id, name in names.items()}


def _distribute(sizes: Mapping[str, int], shares: Mapping[str, float]) -> dict[str, str]:
    """Assign names to splits so that the sums of their sizes approximate the shares.

    Greedy: the largest goes first, to the split with the largest deficit. An empty split then takes the smallest name
    of the fullest split.
    """
    deficits = {split: share * sum(sizes.values()) / sum(shares.values()) for split, share in shares.items()}
    members: dict[str, list[str]] = {split: [] for split in shares}
    for name in sorted(sizes, key=lambda name: (-sizes[name], hashlib.sha256(name.encode()).digest())):
        split = max(deficits, key=lambda split: deficits[split])
        deficits[split] -= sizes[name]
        members[split].append(name)
    for split in members:
        fullest = max(members, key=lambda other: len(members[other]))
        if not members[split] and len(sizes) >= len(shares):
            members[split].append(members[fullest].pop())
    return {name: split for split, names in members.items() for name in names}


EXPORT = Export(
    "triplets",
    "train.jsonl, dev.jsonl and test.jsonl, to train a retriever",
    write_triplets,
    tuple(f"{name}.jsonl" for name in SPLITS),
    last="train.jsonl",
    corpus=False,
)
