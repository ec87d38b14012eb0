"""`groundset export`: a run in the formats of other tools."""

from typing import Literal

from groundset.commands.declare import Command, NewFolder, RunFolder, Signed
from groundset.options import CommandOptions, option
from groundset.printing import say
from groundset.sets.exports import EXPORTS


class ExportOptions(CommandOptions):
    """Write a run in the formats of other tools.

    The questions are its samples, the corpus is all of its chunks. Samples that a reviewer corrected are written as
    corrected, those that a reviewer refused are left out. Files of an earlier export are replaced; a folder that holds
    anything else is refused.
    """

    run: RunFolder
    format: str = option(
        ..., "; ".join(f"{row.name}: {row.about}" for row in EXPORTS.values()) + ".", metavar="NAME,..."
    )
    out: NewFolder = option(
        ..., "The folder that the files go to; of several formats, a folder in it each.", metavar="DIR"
    )
    signed: Signed
    flat: Literal["and", "or"] | None = option(
        None, "autorag: write `retrieval_gt` as one list of ids; and: all are needed, or: any of them will do."
    )
    indent: int | None = option(None, "adk: spaces that JSON is indented by.", show_default="2", ge=0, le=16)


def export(options: ExportOptions) -> None:
    """Export the run and print how much was written."""
    from groundset.sets.exporting import export_run

    exported = export_run(
        options.run,
        options.format,
        options.out,
        signed=options.signed,
        flat=options.flat,
        indent=options.indent,
    )
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}.")


COMMAND = Command("export", ExportOptions, export, rank=5)
