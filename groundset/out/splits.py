"""Splits without leakage: what shares a document, or asks the same again, is never separated."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated

from pydantic import BeforeValidator

from groundset.out.sets import Splits
from programs.errors import InputError
from programs.text import tokens
from programs.types import Chunk, Sample

_NAME = re.compile(r"(?!all\b)\w{1,60}", re.ASCII)  # `datasets` reads "all" as every split; some formats name files so


def parse_shares(given: str | Mapping[str, float]) -> dict[str, float]:
    """Return the share of each split in a text such as ``train=0.8,test=0.2``, or in a mapping.

    Raises:
        ValueError: it is not of this form, or the shares do not add up to 1.
    """
    text = given if isinstance(given, str) else ",".join(f"{name}={share}" for name, share in given.items())
    pairs = [part.split("=") for part in text.split(",")]
    try:
        shares = {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        shares = {}
    wrong = [name for name in shares if not _NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} cannot be the name of a split; use letters, digits and _")
    if len(shares) < len(pairs) or min(shares.values()) <= 0 or not abs(sum(shares.values()) - 1) < 1e-6:
        raise ValueError("write each split once with its share, such as train=0.8,test=0.2; they must add up to 1")
    return shares


Shares = Annotated[dict[str, float], BeforeValidator(parse_shares)]


def split(samples: Sequence[Sample], chunks: Sequence[Chunk], shares: Mapping[str, float]) -> Splits:
    """Assign whole documents to splits, so that the numbers of samples come near the shares.

    Documents that answer the same question stay together, alternatives counted: they also hold the answer. So do those
    that the same words ask about. Documents without questions are spread like the questions. The result depends on ids
    only, not on their order.

    Raises:
        InputError: there are fewer groups of documents than splits.
    """
    doc_ids = {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    links: dict[tuple[str, str], tuple[str, str]] = {}

    def first_of(name: tuple[str, str]) -> tuple[str, str]:
        while links.setdefault(name, name) != name:
            name = links[name]
        return name

    of_sample: dict[str, tuple[str, str]] = {}
    for sample in samples:
        ids = dict.fromkeys(chain(*sample.retrieval_gt, (chunk.chunk_id for chunk in sample.contexts)))
        of_sample[sample.id] = ("document", doc_ids[next(iter(ids))])
        linked = {first_of(("document", doc_ids[name])) for name in ids}
        linked.add(first_of(("question", " ".join(tokens(sample.question)))))
        links |= dict.fromkeys(linked, min(linked))
    sizes = Counter(first_of(name) for name in of_sample.values())
    if len(sizes) < len(shares):
        raise InputError(
            f"--splits: the samples are about {len(sizes)} separate groups of documents (those that share or repeat a "
            f"question stay together), too few for {len(shares)} splits"
        )
    split_of = _spread(sizes, shares)
    found = {name: split_of[first_of(document)] for name, document in of_sample.items()}
    asked = {name: split_of[first_of(("document", name))] for name in doc_ids.values() if ("document", name) in links}
    silent = Counter(("document", name) for name in doc_ids.values() if name not in asked)
    return Splits(found, asked | {name: split for (_, name), split in _spread(silent, Counter(found.values())).items()})


def _spread(sizes: Mapping[tuple[str, str], int], shares: Mapping[str, float]) -> dict[tuple[str, str], str]:
    """Assign names to splits so that the sums of their sizes come near the shares.

    The largest goes first, to the split that lacks most. A split that stays empty gets the smallest of the fullest.
    """
    lacking = {split: share * sum(sizes.values()) / sum(shares.values()) for split, share in sorted(shares.items())}
    members: dict[str, list[tuple[str, str]]] = {split: [] for split in lacking}
    for name in sorted(sizes, key=lambda name: (-sizes[name], hashlib.sha256(name[1].encode()).digest())):
        split = max(lacking, key=lambda split: lacking[split])
        lacking[split] -= sizes[name]
        members[split].append(name)
    for split in members:
        fullest = max(members, key=lambda other: len(members[other]))
        if not members[split] and len(sizes) >= len(shares):
            members[split].append(members[fullest].pop())
    return {name: split for split, names in members.items() for name in names}
