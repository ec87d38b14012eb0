"""`groundset export`: runs in the formats of other tools."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, NamedTuple

from groundset.exports.dataset import make_dataset
from groundset.exports.formats import CORPUS, EXPORTS, MLFLOW, Export
from groundset.exports.sets import SetOptions, joined
from groundset.files import check_empty, whole_folder
from groundset.options import Named, imported, is_own, option
from groundset.printing import say
from groundset.programs.errors import InputError
from groundset.run.run import open_run
from groundset.tracking import location

_SHOWN = ", ".join(f"{name} {row.about}".strip() for name, row in EXPORTS.items())
_WITH_SPLITS = ", ".join(name for name, row in EXPORTS.items() if row.splits)


class Exported(NamedTuple):
    """Numbers of exported questions and chunks, 0 if no format includes the corpus; and the folder
    they are in.
    """

    questions: int
    chunks: int
    folder: Path


class ExportOptions(SetOptions):
    """Write runs in the formats of other tools.

    Exports the samples as questions and all chunks as the corpus; several runs are joined. Samples
    that a reviewer refused are left out.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    format: Annotated[Named, "Callable[[EvaluationSet, Path], object]"] = option(
        ...,
        f"What to write: {_SHOWN}. Several, separated by commas, get a folder each. Or your own,"
        " package.module:name of a function of the set and the folder.",
        metavar="NAME,...",
    )
    out: Path = option(..., "The new or empty folder for the files.", metavar="DIR")
    tracking: str | None = option(
        None, "With mlflow: the store.", metavar="URI", shown="MLFLOW_TRACKING_URI, or your own"
    )
    track_texts: bool = option(
        False, "With mlflow: send questions, answers and passages to a tracking server."
    )


def export(options: ExportOptions) -> None:
    """Export runs and print how much was written."""
    exported = export_run(options)
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}")
    if MLFLOW in options.format:
        say(f"MLflow dataset {options.out.name}: {location(options.tracking)}")


def export_run(options: ExportOptions) -> Exported:
    """Write runs in the formats of other tools, as `groundset export` does.

    ``out`` does not change until all formats are complete.

    Raises:
        InputError: a format or a run does not exist, no chosen format has splits, no sample is
            left, or the folder holds files or cannot be written; nothing was written.
        TrackingError: the store of an evaluation dataset failed; nothing was written.
    """
    own = is_own(options.format)
    names = [options.format] if own else map(str.strip, options.format.split(","))
    rows = {name: _row(name) for name in names}
    if options.splits and not any(row.splits for row in rows.values()):
        raise InputError(f"--splits: only for {_WITH_SPLITS}; omit it or add such a format")
    if (options.tracking or options.track_texts) and MLFLOW not in rows:
        raise InputError(
            f"--tracking and --track-texts: only for {MLFLOW}; omit them or add this format"
        )
    folders = [options.out / name for name in rows] if len(rows) > 1 else [options.out]
    for folder in folders:
        check_empty(folder)
    runs = [open_run(folder) for folder in options.runs]
    content = joined(runs, signed=options.signed, shares=options.splits)
    with ExitStack() as stack:
        for folder, row in zip(folders, rows.values(), strict=True):
            row.write_to(stack.enter_context(whole_folder(folder)), content)
        if MLFLOW in rows:
            make_dataset(
                content, options.out.name, options.tracking, track_texts=options.track_texts
            )
    has_corpus = any(file.startswith(CORPUS) for row in rows.values() for file in row.files)
    return Exported(len(content.samples), len(content.chunks) if has_corpus else 0, options.out)


def _row(name: str) -> Export:
    """Return a format; one of the user has what its function writes.

    Raises:
        InputError: there is no such format.
    """
    if is_own(name):
        return Export({}, write=imported(name, "--format"))
    if name not in EXPORTS:
        raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    return EXPORTS[name]
