"""Split a run so that nothing leaks between splits, and each split is mixed as the whole is.

Questions stay together if they need one document, or if one repeats the other. Such groups are never parted, so splits
only come close to the shares that were requested.
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

_ROUNDS = 20  # of finding better places; a few are enough
_MOST_EXCHANGED = 3_000  # groups; with more, single moves come close enough, and this takes time with their square
_EVEN = 1e-9  # less than this is no better


def split_run(folder: Path, splits: str | Mapping[str, float], out: Path, *, seed: int = 0) -> list[str]:
    """Write a new run whose samples each have a split; return the shares that were reached and its summary.

    ``splits`` are shares that add up to 1, as ``train=0.8,test=0.2`` or a mapping.

    Raises:
        InputError: there are fewer groups than splits, or a folder or an option is wrong.
        RunError: the new run cannot be written.
    """
    check_free(out)
    shares = _parsed(splits)
    run = Run.loaded(folder)
    names = splits_of(run, shares, seed)
    samples = [sample.model_copy(update={"split": name}) for sample, name in zip(run.samples, names, strict=True)]
    written = ",".join(f"{name}={share:g}" for name, share in shares.items())
    lineage = run.lineage("split", splits=written, seed=seed)
    return [*_reached(samples, list(shares)), *save_run(out, run.replace(samples=samples), lineage)]


def _parsed(splits: str | Mapping[str, float]) -> dict[str, float]:
    try:
        shares = SingleOptions.model_validate({"splits": splits}).splits
    except ValidationError as error:
        raise wrong_options(error, {"splits": splits}, "--splits") from error
    for name in shares:
        as_file_name(name)
    if not shares:
        raise InputError("--splits: name at least one split, as in train=0.8,test=0.2")
    return shares


def _reached(samples: Sequence[Sample], names: Sequence[str]) -> list[str]:
    """Return how many samples each split has, and how many of each kind."""
    kind_of = STRATA["kind"]
    all_kinds = Counter(map(kind_of, samples))
    lines = []
    for name in names:
        members = [sample for sample in samples if sample.split == name]
        kinds = Counter(map(kind_of, members))
        mixed = ", ".join(f"{kind} {kinds[kind]} of {all_kinds[kind]}" for kind, _ in all_kinds.most_common())
        share = 100 * len(members) / len(samples)
        lines.append(f"Split {name}: {counted(len(members), 'sample')}, {share:.1f} percent ({mixed}).")
    return lines


def splits_of(run: Run, shares: Mapping[str, float], seed: int = 0) -> list[str]:
    """Return the split of each sample."""
    samples = run.samples
    groups = groups_of(samples, run.question_vectors, run.chunks)
    if len(groups) < len(shares):
        raise InputError(
            "--splits: questions that share a document or repeat each other stay together, which leaves "
            f"{counted(len(groups), 'group')} of them for {len(shares)} splits; name fewer splits"
        )
    groups.sort(key=lambda group: (-len(group), random_rank(seed, samples[group[0]].id)))
    assigned = zip(groups, _assign(_traits(samples, groups), shares), strict=True)
    split_of = {place: name for group, name in assigned for place in group}
    return [split_of[place] for place in range(len(samples))]


def groups_of(samples: Sequence[Sample], vectors: Vectors, chunks: Sequence[Chunk]) -> list[list[int]]:
    """Return the places of samples that must stay together, group by group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    document_of = {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    nodes: dict[str, int] = {}
    edges = list(repetitions([sample.question for sample in samples], vectors))
    for place, sample in enumerate(samples):
        # A chunk that answers the question just as well ties its document too: a model could learn the answer there.
        answering = (document_of[name] for group in sample.retrieval_gt for name in group)
        needed = dict.fromkeys([*answering, *(chunk.doc_id for chunk in sample.contexts)])
        edges += [(place, nodes.setdefault(document, len(samples) + len(nodes))) for document in needed]
    ones, (first, second) = np.ones(len(edges)), np.array(edges).T
    count = len(samples) + len(nodes)
    _, labels = connected_components(coo_array((ones, (first, second)), shape=(count, count)), directed=False)
    found: dict[int, list[int]] = {}
    for place, label in enumerate(labels[: len(samples)].tolist()):
        found.setdefault(label, []).append(place)
    return list(found.values())


def _traits(samples: Sequence[Sample], groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return for each group how many samples it has: all of them, of each kind and of each evolution."""
    traits = [("all", *((trait, STRATA[trait](sample)) for trait in ("kind", "evolution"))) for sample in samples]
    columns = {name: column for column, name in enumerate(dict.fromkeys(name for names in traits for name in names))}
    counts = np.zeros((len(groups), len(columns)))
    for row, group in enumerate(groups):
        for name, count in Counter(name for place in group for name in traits[place]).items():
            counts[row, columns[name]] = count
    return counts


def _assign(counts: NDArray[np.float64], shares: Mapping[str, float]) -> list[str]:
    """Return the split of each group, the largest given first.

    A group goes where it brings all closest to the shares; then groups move, or change places, while that helps.
    """
    names = list(shares)
    wanted = np.outer(list(shares.values()), counts.sum(axis=0))
    weights = 1 / np.maximum(wanted, _EVEN)
    weights[:, 0] *= counts.shape[1]  # how many there are of all counts as much as everything else
    off = -wanted  # how far each split is from what is wanted of it
    places = np.full(len(counts), -1)

    def worse(splits: Any, added: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much further from their shares splits would be if something was added to each."""
        cost: NDArray[np.float64] = (weights[splits] * added * (2 * off[splits] + added)).sum(axis=-1)
        return cost

    def put(group: int, split: int) -> None:
        if places[group] >= 0:
            off[places[group]] -= counts[group]
        places[group] = split
        off[split] += counts[group]

    for group in range(len(counts)):
        put(group, int(np.argmin(worse(slice(None), counts[group]))))
    for _ in range(_ROUNDS):
        before = places.copy()
        for group in range(len(counts)):
            here = places[group]
            moving = worse(slice(None), counts[group]) + worse(here, -counts[group])
            moving[here] = 0
            if moving.min() < -_EVEN:
                put(group, int(np.argmin(moving)))
                continue
            if len(counts) > _MOST_EXCHANGED:
                continue
            change = counts - counts[group]
            changing = worse(here, change) + worse(places, -change)
            changing[places == here] = 0
            if changing.min() < -_EVEN:
                other = int(np.argmin(changing))
                put(group, places[other])
                put(other, here)
        if (places == before).all():
            break
    for split in range(len(names)):
        if split not in places:  # a small share of few questions; the last group is the smallest
            fullest = np.bincount(places, minlength=len(names)).argmax()
            places[np.flatnonzero(places == fullest)[-1]] = split
    return [names[place] for place in places]
