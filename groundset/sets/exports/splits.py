"""Splits of an evaluation set: those of its run, or drawn so that no document is in two."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from groundset.sets.exports.rows import relevant_ids
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run

SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
_FILE_NAME = re.compile(r"\w[\w.-]{0,99}")


class Splits(NamedTuple):
    """The split of every sample and of every document, by id; no text of a document is in two splits."""

    samples: dict[str, str]
    documents: dict[str, str]


def as_file_name(split: str) -> str:
    """Return the name of a split if a file can be called so.

    Raises:
        InputError: it cannot.
    """
    if not _FILE_NAME.fullmatch(split):
        raise InputError(f"no file can be named after the split {split!r}; use letters, digits, - and _")
    return split


def split_by_document(run: "Run") -> Splits:
    """Return the splits of a run if every sample has one, else draw them.

    Questions that chunks of several documents answer hold these together. Most of the questions go to ``train``, about
    a tenth each to ``dev`` and ``test``, and at least one document each if there are three. What is drawn depends on
    the ids alone, not on their order. Documents that nothing is asked about are shared out as the questions are.

    Raises:
        InputError: splits of the run share a document.
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

    together = DisjointSet(doc_id for documents in needed.values() for doc_id in documents)
    for first, *others in needed.values():
        for other in others:
            together.merge(first, other)
    names = {doc_id: min(subset) for subset in together.subsets() for doc_id in subset}
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
