"""`groundset export`: runs in the formats of other tools."""

from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from groundset.files import check_own, whole_folder
from groundset.options import Options, option
from groundset.out.formats import EXPORTS
from groundset.out.sets import Shares, joined
from groundset.printing import say
from groundset.run.run import open_run
from programs.errors import InputError


class Exported(NamedTuple):
    """Numbers of exported questions and chunks; 0 chunks if no format includes the corpus."""

    questions: int
    chunks: int


class ExportOptions(Options):
    """Write runs in the formats of other tools.

    Exports the samples as questions and all chunks as the corpus; several runs are joined. Samples that a reviewer
    refused are left out. Files of an earlier export are replaced; a folder with other files is refused.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    format: str = option(
        ...,
        f"What to write: {', '.join(f'{name} {row.about}'.strip() for name, row in EXPORTS.items())}. "
        "Several, separated by commas, get a folder each.",
        metavar="NAME,...",
    )
    out: Path = option(..., "The folder for the files.", metavar="DIR")
    splits: Shares | None = option(
        None,
        "Shares of splits, such as train=0.8,test=0.2; a document is never in two. For "
        + ", ".join(name for name, row in EXPORTS.items() if row.splits)
        + ".",
        metavar="NAME=SHARE,...",
    )
    signed: bool = option(False, "Only samples that a reviewer signed and none refused.")


def export(options: ExportOptions) -> None:
    """Export runs and print how much was written."""
    exported = export_run(options)
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}")


def export_run(options: ExportOptions) -> Exported:
    """Write runs in the formats of other tools, as `groundset export` does.

    ``out`` does not change until all formats are complete.

    Raises:
        InputError: a format or a run does not exist, no chosen format has splits, no sample is left, or the folder
            cannot be written; nothing was written.
    """
    names = list(dict.fromkeys(name.strip() for name in options.format.split(",")))
    for name in names:
        if name not in EXPORTS:
            raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    if options.splits and not any(EXPORTS[name].splits for name in names):
        owners = ", ".join(name for name, row in EXPORTS.items() if row.splits)
        raise InputError(f"--splits: only for {owners}; omit it or add such a format")
    folders = {name: options.out if len(names) == 1 else options.out / name for name in names}
    for name, folder in folders.items():
        check_own(folder, EXPORTS[name].files)
    found = joined([open_run(folder) for folder in options.runs], signed=options.signed, shares=options.splits)
    with ExitStack() as stack:
        for name, folder in folders.items():
            row = EXPORTS[name]
            temporary = stack.enter_context(whole_folder(folder, last=row.files[0].partition("/")[0]))
            check_own(folder, row.files)  # again, now that the folder is locked
            row.write(found, temporary)
    return Exported(len(found.samples), len(found.chunks) if any(EXPORTS[name].corpus for name in names) else 0)
