"""A set without the samples that a condition holds for."""

from pathlib import Path

from groundset.progress import counted
from groundset.run import Run, reject_sample, save_run
from groundset.sets.transforms.where import matching
from groundset.store.folder import check_free
from groundset.store.reviews import mended, readings, standing
from programs.errors import InputError
from programs.types import Sample

STEP = "drop"  # what the samples that went are rejects of


def drop_run(run: Path, where: str, out: Path) -> list[str]:
    """Write a new run without some samples, which become rejects of it; return the lines that say what it is.

    Args:
        run: the folder of a run.
        where: which samples go; see :func:`groundset.sets.transforms.where.matching`.
        out: the new folder.

    Raises:
        InputError: nothing would be left, or the condition or a folder is wrong.
        RunError: the new run cannot be written.
    """
    check_free(out)
    content = Run.loaded(run)
    going = _going(content, where)
    if len(going) == len(content.samples):
        raise InputError(f"--where {where}: it holds for every sample of {run}, and nothing would be left")
    kept = content.only(place for place in range(len(content.samples)) if place not in going)
    rejects = [reject_sample(content.samples[place], STEP, f"dropped: {where}") for place in sorted(going)]
    kept = kept.replace(rejects=[*content.rejects, *rejects])
    told = f"Dropped {len(going)} of {counted(len(content.samples), 'sample')}."
    return [told, *save_run(out, kept, content.lineage("drop", where=where))]


def list_drops(run: Path, where: str) -> tuple[list[Sample], int]:
    """Return the samples of a run that would go, and how many there are; nothing is written.

    Raises:
        InputError: the condition or the folder is wrong.
    """
    content = Run.loaded(run)
    return [content.samples[place] for place in sorted(_going(content, where))], len(content.samples)


def _going(content: Run, where: str) -> set[int]:
    """Return the places of the samples that a condition holds for, as readers left them: so they are exported."""
    found = readings(standing(content.reviews))
    samples = [mended(sample, found.get(sample.id)) for sample in content.samples]
    return set(matching(where, samples, {item: reading.verdict for item, reading in found.items()}))
