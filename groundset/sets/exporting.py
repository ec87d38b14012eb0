"""Export a run to the formats of other tools."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.folders import check_own, whole_folders
from groundset.options import option_name
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.base import Export, Exported
from groundset.store.folder import database_path
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run


def export_run(folder: Path, formats: str, out: Path, *, signed: bool = False, **options: Any) -> Exported:
    """Export the samples of a run and all of its chunks, in the comma-separated ``formats``.

    Corrected samples are exported as corrected; refused samples are left out; ``signed`` exports only signed samples.
    A single format is written to ``out`` itself, several formats to a subfolder each. ``out`` does not change until all
    formats are complete. Files of an earlier export are replaced; a folder with other files is rejected. ``options``
    are those of single formats; None means not given.

    Raises:
        InputError: a format or the run does not exist, no chosen format has an option, or the folder cannot be written.
    """
    chosen = parse_formats(formats)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if not any(name in row.options for row in chosen):
            owners = ", ".join(row.name for row in EXPORTS.values() if name in row.options)
            raise InputError(f"{option_name(name)}: an option of the format {owners} only; omit it or add that format")

    return write_set(exported_run(folder, signed=signed), chosen, out, **given)


def parse_formats(formats: str) -> list[Export]:
    """Parse a comma-separated list of formats."""
    names = list(dict.fromkeys(name.strip() for name in formats.split(",") if name.strip()))
    for name in names or [formats]:
        if name not in EXPORTS:
            raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    return [EXPORTS[name] for name in names]


def exported_run(folder: Path, *, signed: bool = False) -> "Run":
    """Load a run with the corrections of reviewers, without refused samples.

    Raises:
        InputError: the folder holds no run, or no sample is left.
    """
    from groundset.run import Run

    run = Run(folder)
    reviewed = run.reviewed(signed=signed)
    if run.samples and not reviewed.samples:
        why = f"no sample of {folder} is signed" if signed else f"reviewers refused every sample of {folder}"
        raise InputError(f"{why}; review them with `groundset review {folder}`")
    return reviewed


def write_set(run: "Run", formats: Sequence[Export], out: Path, **options: Any) -> Exported:
    """Write a run in one or more formats; see :func:`export_run`."""
    check_set(run)
    folders = [out] if len(formats) == 1 else [out / row.name for row in formats]
    if len(formats) > 1 and out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file, not a folder")
    for row, folder in zip(formats, folders, strict=True):
        if database_path(folder).exists():
            raise InputError(f"--out {folder}: is the folder of a run; name another folder")
        check_own(folder, row.files)
    targets = {folder: row.last for row, folder in zip(formats, folders, strict=True)}
    with whole_folders(targets) as temporary_folders:
        for row, folder, temporary in zip(formats, folders, temporary_folders, strict=True):
            check_own(folder, row.files)  # again, now that the folder is locked
            row.write(run, temporary, **{name: options[name] for name in row.options if name in options})
    return Exported(len(run.samples), len(run.chunks) if any(row.corpus for row in formats) else 0)


def check_set(run: "Run") -> None:
    """Raise an InputError if there are no samples, an id is empty or duplicate, or a reference is broken."""
    from groundset.run import has_ground_truth

    if not run.samples:
        raise InputError("the run holds no samples; nothing to export")
    _check_unique("question", (sample.id for sample in run.samples))
    _check_unique("chunk", (chunk.chunk_id for chunk in run.chunks))
    known = {chunk.chunk_id for chunk in run.chunks}
    sources = {document.doc_id for document in run.documents}
    for sample in run.samples:
        if not sample.question.strip():
            raise InputError(f"sample {sample.id} has no question")
        if not sample.answer.strip():
            fix = "remove such samples with `groundset drop --where 'not answer'`"
            raise InputError(f"sample {sample.id} has no answer, which every format requires; {fix}")
        if not has_ground_truth(sample) or not all(sample.retrieval_gt):
            raise InputError(f"sample {sample.id} has no ground-truth chunk")
        missing = [name for group in sample.retrieval_gt for name in group if name not in known]
        if missing:
            raise InputError(f"sample {sample.id} needs chunk {missing[0]}, which is missing from the run")
    for chunk in run.chunks:
        if chunk.doc_id not in sources:
            raise InputError(f"chunk {chunk.chunk_id} belongs to document {chunk.doc_id}, which is missing")
        if not chunk.text.strip():
            raise InputError(f"chunk {chunk.chunk_id} is empty")


def _check_unique(kind: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if not name.strip():
            raise InputError(f"a {kind} has no id")
        if name in seen:
            raise InputError(f"the {kind} id {name} occurs twice")
        seen.add(name)
