"""Draw samples from a run, stratified and from as many documents as possible."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from groundset.corpus.chunks import random_rank
from groundset.progress import counted
from groundset.run import Run, save_run
from groundset.store.folder import check_free
from programs.errors import InputError
from programs.recipes.mix import quotas
from programs.types import Sample


def _document(sample: Sample) -> str:
    return sample.contexts[0].doc_id


STRATA: Mapping[str, Callable[[Sample], str]] = {
    "evolution": lambda sample: sample.evolution,
    "kind": lambda sample: str(sample.metadata.get("kind") or "none"),
    "document": _document,
    "language": lambda sample: sample.language,
}
PROFILE = "profile."


def stratum(by: str) -> Callable[[Sample], str]:
    """Return the function that gives the stratum of a sample; ``profile.NAME`` is a dimension of its profile."""
    if by.startswith(PROFILE):
        return lambda sample: sample.profile.get(by.removeprefix(PROFILE), "none")
    return STRATA[by]


def sample_run(folder: Path, size: int, out: Path, *, by: str | None = None, seed: int = 0) -> list[str]:
    """Write a new run with ``size`` samples and the whole corpus of another; return its summary.

    ``by``, see :func:`stratum`, keeps the share of each stratum.

    Raises:
        InputError: the run has fewer samples, or a folder or an option is invalid.
        RunError: the new run cannot be written.
    """
    check_free(out)
    if by is not None and by not in STRATA and not by.startswith(PROFILE):
        raise InputError(f"--by {by}: choose one of {', '.join(STRATA)} or {PROFILE}DIMENSION")
    run = Run.loaded(folder)
    if by is not None and by not in STRATA:
        known = dict.fromkeys(f"{PROFILE}{name}" for sample in run.samples for name in sample.profile)
        if by not in known:
            raise InputError(
                f"--by {by}: no sample has this dimension; {folder} has {', '.join(known) or 'no profiles'}"
            )
    if not 1 <= size <= len(run.samples):
        raise InputError(f"--size {size}: {folder} holds {counted(len(run.samples), 'sample')}; choose at most as many")
    drawn = run.only(draw(run.samples, size, by, seed))
    part, whole = (len(set(map(_document, samples))) for samples in (drawn.samples, run.samples))
    line = f"Drew {size} of {counted(len(run.samples), 'sample')}, about {part:,} of {counted(whole, 'document')}"
    if by is not None and by != "document":
        shares, strata = (Counter(map(stratum(by), samples)) for samples in (drawn.samples, run.samples))
        line += f"; by {by}: {', '.join(f'{name} {shares[name]} of {strata[name]}' for name in strata)}"
    return [f"{line}.", *save_run(out, drawn, run.lineage("sample", size=size, by=by, seed=seed))]


def draw(samples: Sequence[Sample], size: int, by: str | None = None, seed: int = 0) -> list[int]:
    """Return the sorted indices of ``size`` samples; the same seed draws the same samples.

    With ``by``, see :func:`stratum`, each stratum gets one sample, largest first; the rest is proportional to the
    strata. Within that, samples are drawn round-robin over documents.
    """
    stratum_of = stratum(by) if by is not None else lambda _: ""
    strata = [stratum_of(sample) for sample in samples]
    remaining = _stratum_sizes(size, Counter(strata))
    by_document: defaultdict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(samples)), key=lambda index: random_rank(seed, samples[index].id)):
        by_document[_document(samples[index])].append(index)
    # Documents with the fewest samples first, so others do not use up the strata they could fill.
    documents = sorted(by_document, key=lambda name: (len(by_document[name]), random_rank(seed, name)))
    drawn: list[int] = []
    while len(drawn) < size:
        for name in documents:
            possible = [index for index in by_document[name] if remaining[strata[index]]]
            if possible:
                index = max(possible, key=lambda index: remaining[strata[index]])
                by_document[name].remove(index)
                remaining[strata[index]] -= 1
                drawn.append(index)
    return sorted(drawn)


def _stratum_sizes(size: int, strata: Mapping[str, int]) -> dict[str, int]:
    sizes = quotas(size, strata)
    for name in sorted(strata, key=lambda name: (-strata[name], name)):
        largest = max(sizes, key=lambda other: sizes[other])
        if not sizes[name] and sizes[largest] > 1:
            sizes[largest] -= 1
            sizes[name] = 1
    return sizes
