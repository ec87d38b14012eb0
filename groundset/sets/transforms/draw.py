"""Sample a run: draw some samples, mixed as the whole is, from as many documents as possible."""

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


def sample_run(folder: Path, size: int, out: Path, *, by: str | None = None, seed: int = 0) -> list[str]:
    """Write a new run with ``size`` samples of another, and all of its corpus; return its summary.

    ``by``, one of ``STRATA``, keeps the shares of each stratum.

    Raises:
        InputError: there are fewer samples, or a folder or an option is wrong.
        RunError: the new run cannot be written.
    """
    check_free(out)
    if by is not None and by not in STRATA:
        raise InputError(f"--by {by}: choose one of {', '.join(STRATA)}")
    run = Run.loaded(folder)
    if not 1 <= size <= len(run.samples):
        raise InputError(f"--size {size}: choose from 1 to {len(run.samples)}, which is all that {folder} holds")
    drawn = run.only(draw(run.samples, size, by, seed))
    part, whole = (len(set(map(_document, samples))) for samples in (drawn.samples, run.samples))
    line = f"Drew {size} of {counted(len(run.samples), 'sample')}, about {part:,} of {counted(whole, 'document')}"
    if by not in (None, "document"):
        shares, strata = (Counter(map(STRATA[by], samples)) for samples in (drawn.samples, run.samples))
        line += f"; by {by}: {', '.join(f'{name} {shares[name]} of {strata[name]}' for name in strata)}"
    return [f"{line}.", *save_run(out, drawn, run.lineage("sample", size=size, by=by, seed=seed))]


def draw(samples: Sequence[Sample], size: int, by: str | None = None, seed: int = 0) -> list[int]:
    """Return the places of ``size`` of the samples, in order; the same ones for the same seed.

    With ``by``, one of ``STRATA``, each stratum gets one sample, the largest first, and of the rest its share of the
    whole. Within that, documents take turns, so that none gives a second sample before each that can has given one.
    """
    strata = [STRATA[by](sample) if by is not None else "" for sample in samples]
    left = _shares(size, Counter(strata))
    of_document: defaultdict[str, list[int]] = defaultdict(list)
    for place in sorted(range(len(samples)), key=lambda place: random_rank(seed, samples[place].id)):
        of_document[_document(samples[place])].append(place)
    # Who has least to choose from goes first, or another would take what it could have given.
    documents = sorted(of_document, key=lambda name: (len(of_document[name]), random_rank(seed, name)))
    drawn: list[int] = []
    while len(drawn) < size:
        for name in documents:
            possible = [place for place in of_document[name] if left[strata[place]]]
            if possible:
                place = max(possible, key=lambda place: left[strata[place]])
                of_document[name].remove(place)
                left[strata[place]] -= 1
                drawn.append(place)
    return sorted(drawn)


def _shares(size: int, strata: Mapping[str, int]) -> dict[str, int]:
    shares = quotas(size, strata)
    for name in sorted(strata, key=lambda name: (-strata[name], name)):
        most = max(shares, key=lambda other: shares[other])
        if not shares[name] and shares[most] > 1:
            shares[most] -= 1
            shares[name] = 1
    return shares
