"""Rows to train a retriever with: `train.jsonl`, `dev.jsonl`, `test.jsonl`.

The columns of sentence-transformers' trainer, in the order in which its losses read them: ``anchor``, ``positive``,
``negative_1`` and so on, as its ``mine_hard_negatives`` names them. A question that needs several chunks has a row for
each. Splits are those of the run, or drawn so that no document is in two; the negatives of a split are chunks of its
own documents, mined as :mod:`groundset.sets.negatives` says.
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
_SHARE_OF_ROWS = 0.1  # may be left out for having fewer negatives than the others


class Splits(NamedTuple):
    """The split of every sample and of every document, by id; no text of a document is in two splits."""

    samples: dict[str, str]
    documents: dict[str, str]


class _Row(NamedTuple):
    anchor: str
    positive: str
    negatives: list[str]


def write_triplets(run: "Run", folder: Path) -> None:
    """Write a file for each split that has questions.

    All rows have as many negatives, ``NEGATIVES`` unless more than a tenth of them would then be left out: in a corpus
    of a few chunks there are not as many.
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


def split_by_document(run: "Run") -> Splits:
    """Return the splits of a run if every sample has one, else draw them.

    Questions that chunks of several documents answer hold these together. Most of the questions go to ``train``, about
    a tenth each to ``dev`` and ``test``, and at least one document each if there are three. What is drawn depends on
    the ids alone, not on their order. Documents that nothing is asked about are shared out as the questions are.
    """
    doc_ids = {chunk.chunk_id: chunk.doc_id for chunk in run.chunks}
    needed = {sample.id: [doc_ids[group[0]] for group in sample.retrieval_gt] for sample in run.samples}
    given = {sample.id: sample.split for sample in run.samples if sample.split}
    if len(given) == len(needed):
        asked = _given(needed, given)
    else:
        # A chunk that answers just as well ties its document too: a model could learn the answer there.
        asked = _drawn({sample.id: [doc_ids[name] for name in relevant_ids(sample)] for sample in run.samples})
    samples = {name: asked[documents[0]] for name, documents in needed.items()}
    others = Counter(chunk.doc_id for chunk in run.chunks if chunk.doc_id not in asked)
    return Splits(samples, asked | _share_out(others, Counter(sorted(samples.values()))))


def _given(needed: Mapping[str, Sequence[str]], splits: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, documents in needed.items():
        for doc_id in documents:
            if found.setdefault(doc_id, splits[name]) != splits[name]:
                raise InputError(
                    f"document {doc_id} is in the splits {found[doc_id]} and {splits[name]}; "
                    "split the run anew by `groundset split`"
                )
    return found


def _drawn(needed: Mapping[str, Sequence[str]]) -> dict[str, str]:
    from scipy.cluster.hierarchy import DisjointSet

    linked = DisjointSet(doc_id for documents in needed.values() for doc_id in documents)
    for first, *others in needed.values():
        for other in others:
            linked.merge(first, other)
    names = {doc_id: min(subset) for subset in linked.subsets() for doc_id in subset}
    if len(set(names.values())) < len(SHARES):
        return dict.fromkeys(names, max(SHARES, key=lambda split: SHARES[split]))
    splits = _share_out(Counter(names[documents[0]] for documents in needed.values()), SHARES)
    return {doc_id: splits[name] for doc_id, name in names.items()}


def _share_out(sizes: Mapping[str, int], shares: Mapping[str, float]) -> dict[str, str]:
    """Return a split for each name, so that the sums of sizes come close to the shares.

    The largest goes first, to the split that lacks most; then a split that has none takes the smallest of the split
    that has most.
    """
    lacking = {split: share * sum(sizes.values()) / sum(shares.values()) for split, share in shares.items()}
    members: dict[str, list[str]] = {split: [] for split in shares}
    for name in sorted(sizes, key=lambda name: (-sizes[name], hashlib.sha256(name.encode()).digest())):
        split = max(lacking, key=lambda split: lacking[split])
        lacking[split] -= sizes[name]
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
