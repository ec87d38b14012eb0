"""Assign the samples of a run to splits without leakage, stratified by kind and evolution.

Questions about the same document, and duplicate questions, form groups that are never separated; shares are therefore
approximate.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from groundset.corpus.chunks import random_rank
from groundset.engine.duplicates import Vectors, repetitions
from groundset.options import wrong_options
from groundset.progress import counted
from groundset.run import Run, save_run
from groundset.sets.exports.base import as_file_name
from groundset.sets.transforms.draw import STRATA
from groundset.store.folder import check_free
from programs.errors import InputError
from programs.recipes.single import SingleOptions
from programs.types import Chunk, Sample

_ROUNDS = 20  # maximum rounds of local search; a few usually suffice
_MAX_SWAPPED_GROUPS = 3_000  # swaps take quadratic time; with more groups, single moves suffice
_TOLERANCE = 1e-9


def split_run(folder: Path, splits: str | Mapping[str, float], out: Path, *, seed: int = 0) -> list[str]:
    """Write a new run whose samples have splits; return the resulting shares and its summary.

    ``splits`` are shares that add up to 1, such as ``train=0.8,test=0.2``, or a mapping.

    Raises:
        InputError: there are fewer groups than splits, or a folder or an option is invalid.
        RunError: the new run cannot be written.
    """
    check_free(out)
    shares = _parsed(splits)
    run = Run.loaded(folder)
    names = splits_of(run, shares, seed)
    samples = [sample.model_copy(update={"split": name}) for sample, name in zip(run.samples, names, strict=True)]
    written = ",".join(f"{name}={share:g}" for name, share in shares.items())
    lineage = run.lineage("split", splits=written, seed=seed)
    return [*_split_summary(samples, list(shares)), *save_run(out, run.replace(samples=samples), lineage)]


def _parsed(splits: str | Mapping[str, float]) -> dict[str, float]:
    try:
        shares = SingleOptions.model_validate({"splits": splits}).splits
    except ValidationError as error:
        raise wrong_options(error, {"splits": splits}, "--splits") from error
    for name in shares:
        as_file_name(name)
    if not shares:
        raise InputError("--splits: name at least one split, such as train=0.8,test=0.2")
    return shares


def _split_summary(samples: Sequence[Sample], names: Sequence[str]) -> list[str]:
    """Describe the size of each split, in total and by kind."""
    kind_of = STRATA["kind"]
    all_kinds = Counter(map(kind_of, samples))
    lines = []
    for name in names:
        members = [sample for sample in samples if sample.split == name]
        kinds = Counter(map(kind_of, members))
        by_kind = ", ".join(f"{kind} {kinds[kind]} of {all_kinds[kind]}" for kind, _ in all_kinds.most_common())
        share = 100 * len(members) / len(samples)
        lines.append(f"Split {name}: {counted(len(members), 'sample')}, {share:.1f} % ({by_kind}).")
    return lines


def splits_of(run: Run, shares: Mapping[str, float], seed: int = 0) -> list[str]:
    """Return the split of each sample."""
    samples = run.samples
    groups = groups_of(samples, run.question_vectors, run.chunks)
    if len(groups) < len(shares):
        raise InputError(
            f"--splits: {counted(len(groups), 'group')} for {len(shares)} splits (questions that share a document or "
            "repeat each other stay together); name fewer splits"
        )
    groups.sort(key=lambda group: (-len(group), random_rank(seed, samples[group[0]].id)))
    assigned = zip(groups, _assign(_traits(samples, groups), shares), strict=True)
    split_of = {index: name for group, name in assigned for index in group}
    return [split_of[index] for index in range(len(samples))]


def groups_of(samples: Sequence[Sample], vectors: Vectors, chunks: Sequence[Chunk]) -> list[list[int]]:
    """Return groups of sample indices that must stay together."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    document_of = {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    nodes: dict[str, int] = {}
    edges = list(repetitions([sample.question for sample in samples], vectors))
    for index, sample in enumerate(samples):
        # Documents of alternative chunks count too: they also hold the answer.
        answering = (document_of[name] for group in sample.retrieval_gt for name in group)
        documents = dict.fromkeys([*answering, *(chunk.doc_id for chunk in sample.contexts)])
        edges += [(index, nodes.setdefault(document, len(samples) + len(nodes))) for document in documents]
    ones, (first, second) = np.ones(len(edges)), np.array(edges).T
    count = len(samples) + len(nodes)
    _, labels = connected_components(coo_array((ones, (first, second)), shape=(count, count)), directed=False)
    groups: dict[int, list[int]] = {}
    for index, label in enumerate(labels[: len(samples)].tolist()):
        groups.setdefault(label, []).append(index)
    return list(groups.values())


def _traits(samples: Sequence[Sample], groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Count the samples of each group (rows): in total, by kind and by evolution (columns)."""
    traits = [("all", *((trait, STRATA[trait](sample)) for trait in ("kind", "evolution"))) for sample in samples]
    columns = {name: column for column, name in enumerate(dict.fromkeys(name for names in traits for name in names))}
    counts = np.zeros((len(groups), len(columns)))
    for row, group in enumerate(groups):
        for name, count in Counter(name for index in group for name in traits[index]).items():
            counts[row, columns[name]] = count
    return counts


def _assign(counts: NDArray[np.float64], shares: Mapping[str, float]) -> list[str]:
    """Assign groups, sorted by decreasing size, to splits.

    Each group goes to the split that minimises the weighted squared error of the counts; local search by moves and
    swaps follows.
    """
    names = list(shares)
    targets = np.outer(list(shares.values()), counts.sum(axis=0))
    weights = 1 / np.maximum(targets, _TOLERANCE)
    weights[:, 0] *= counts.shape[1]  # the total weighs as much as all other columns together
    deviation = -targets
    assigned = np.full(len(counts), -1)

    def cost_change(splits: Any, added: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much the error grows if counts are added to splits."""
        cost: NDArray[np.float64] = (weights[splits] * added * (2 * deviation[splits] + added)).sum(axis=-1)
        return cost

    def assign(group: int, split: int) -> None:
        if assigned[group] >= 0:
            deviation[assigned[group]] -= counts[group]
        assigned[group] = split
        deviation[split] += counts[group]

    for group in range(len(counts)):
        assign(group, int(np.argmin(cost_change(slice(None), counts[group]))))
    for _ in range(_ROUNDS):
        before = assigned.copy()
        for group in range(len(counts)):
            current = assigned[group]
            moves = cost_change(slice(None), counts[group]) + cost_change(current, -counts[group])
            moves[current] = 0
            if moves.min() < -_TOLERANCE:
                assign(group, int(np.argmin(moves)))
                continue
            if len(counts) > _MAX_SWAPPED_GROUPS:
                continue
            difference = counts - counts[group]
            swaps = cost_change(current, difference) + cost_change(assigned, -difference)
            swaps[assigned == current] = 0
            if swaps.min() < -_TOLERANCE:
                other = int(np.argmin(swaps))
                assign(group, assigned[other])
                assign(other, current)
        if (assigned == before).all():
            break
    for split in range(len(names)):
        if split not in assigned:  # give an empty split the smallest group of the fullest one
            fullest = np.bincount(assigned, minlength=len(names)).argmax()
            assigned[np.flatnonzero(assigned == fullest)[-1]] = split
    return [names[split] for split in assigned]
