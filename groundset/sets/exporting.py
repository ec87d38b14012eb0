"""A run in the formats of other tools."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from groundset.folders import check_own, whole_folders
from groundset.options import option_name
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.base import Export, Exported
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run


def export_run(folder: Path, formats: str, out: Path, *, signed: bool = False, **options: Any) -> Exported:
    """Write the samples of a run as questions, and all of its chunks as the corpus, in comma-separated formats.

    Samples are exported as reviewers corrected them, without those that they refused; with ``signed``, only those that
    they signed. One format goes into ``out`` itself, several into a folder each there. Nothing changes before all are
    complete. Files of an earlier export are replaced; a folder that holds anything else is refused. ``options`` are
    those of single formats; one that is None was not given.

    Raises:
        InputError: there is no such format or run, an option belongs to no chosen format, or the folder cannot be
            written.
    """
    chosen = formats_named(formats)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if not any(name in row.options for row in chosen):
            owners = ", ".join(row.name for row in EXPORTS.values() if name in row.options)
            raise InputError(f"{option_name(name)}: only the format {owners} has it; leave it out or choose {owners}")
    return write_set(exported_run(folder, signed=signed), chosen, out, given)


def formats_named(formats: str) -> list[Export]:
    """Return the formats of a list with commas."""
    names = list(dict.fromkeys(name.strip() for name in formats.split(",") if name.strip()))
    for name in names or [formats]:
        if name not in EXPORTS:
            raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    return [EXPORTS[name] for name in names]


def exported_run(folder: Path, *, signed: bool = False) -> "Run":
    """Return the run whose samples go out: corrected by reviewers, without what they refused.

    Raises:
        InputError: the folder holds no run, or reviewers left no sample of it.
    """
    from groundset.run import Run

    run = Run(folder)
    reviewed = run.reviewed(signed=signed)
    if run.samples and not reviewed.samples:
        why = f"no sample of {folder} is signed" if signed else f"reviewers refused every sample of {folder}"
        raise InputError(f"{why}; review them with `groundset review {folder}`")
    return reviewed


def write_set(
    run: "Run", formats: Sequence[Export], out: Path, options: Mapping[str, Any] = MappingProxyType({})
) -> Exported:
    """Write an evaluation set in one format or several; see :func:`export_run`."""
    check_set(run)
    folders = [out] if len(formats) == 1 else [out / row.name for row in formats]
    if len(formats) > 1 and out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file, not a folder")
    for row, folder in zip(formats, folders, strict=True):
        check_own(folder, row.files)
    lasts = {folder: row.last for row, folder in zip(formats, folders, strict=True)}
    with whole_folders(lasts) as asides:
        for row, folder, aside in zip(formats, folders, asides, strict=True):
            check_own(folder, row.files)  # once more: now that nobody else writes there
            row.write(run, aside, **{name: options[name] for name in row.options if name in options})
    return Exported(len(run.samples), len(run.chunks) if any(row.corpus for row in formats) else 0)


def check_set(run: "Run") -> None:
    """Raise an InputError if there are no samples, an id is empty or occurs twice, or a reference leads nowhere."""
    if not run.samples:
        raise InputError("the run holds no samples, so there is nothing to export")
    _check_unique("question", (sample.id for sample in run.samples))
    _check_unique("chunk", (chunk.chunk_id for chunk in run.chunks))
    known = {chunk.chunk_id for chunk in run.chunks}
    sources = {document.doc_id for document in run.documents}
    for sample in run.samples:
        if not sample.question.strip():
            raise InputError(f"sample {sample.id} has no question")
        if not sample.answer.strip():
            fix = "leave such samples out by `groundset drop --where 'not answer'`"
            raise InputError(f"sample {sample.id} has no answer, which every format asks for; {fix}")
        if not sample.retrieval_gt or not all(sample.retrieval_gt):
            raise InputError(f"sample {sample.id} has no ground-truth chunk")
        missing = [name for group in sample.retrieval_gt for name in group if name not in known]
        if missing:
            raise InputError(f"sample {sample.id} rests on chunk {missing[0]}, which the run does not hold")
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
