"""`groundset export`: write a run in the formats of other tools."""

from typing import Literal

from groundset.commands.declare import Command, NewFolder, RunFolder, Signed
from groundset.options import CommandOptions, option
from groundset.printing import say
from groundset.sets.exports import EXPORTS


class ExportOptions(CommandOptions):
    """Write a run in the formats of other tools.

    Exports the samples as questions and all chunks as the corpus. Corrections of reviewers are applied, and samples
    that a reviewer refused are left out. Files of an earlier export are replaced; a folder with other files is
    rejected.
    """

    run: RunFolder
    format: str = option(
        ..., "; ".join(f"{row.name}: {row.about}" for row in EXPORTS.values()) + ".", metavar="NAME,..."
    )
    out: NewFolder = option(..., "The folder for the files; several formats get a subfolder each.", metavar="DIR")
    signed: Signed
    flat: Literal["and", "or"] | None = option(
        None, "autorag: write `retrieval_gt` as a single list of ids; and: all are needed, or: any is enough."
    )
    indent: int | None = option(None, "adk: indentation of the JSON, in spaces.", show_default="2", ge=0, le=16)


def export(options: ExportOptions) -> None:
    """Export the run and print how much was written."""
    from groundset.sets.exporting import export_run

    exported = export_run(
        options.run, options.format, options.out, **options.model_dump(exclude={"run", "format", "out"})
    )
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}.")


COMMAND = Command("export", ExportOptions, export, rank=5)
