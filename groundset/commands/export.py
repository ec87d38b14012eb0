"""`groundset export`: a run in the formats of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_folder
from groundset.printing import say
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.writing import export_run


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="; ".join(f"{row.name}: {row.about}" for row in EXPORTS.values()) + ".",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder that the files go to; of several formats, a folder in it each.",
            show_default=False,
            callback=new_folder,
        ),
    ],
    signed: Annotated[bool, typer.Option("--signed", help="Only samples that a reader signed.")] = False,
) -> None:
    """Write a run in the formats of other tools.

    The questions are its samples, the corpus is all of its chunks. What a reader mended goes out as it was mended, what
    a reader refused does not. Files of an earlier export are replaced; a folder that holds anything else is refused.
    """
    exported = export_run(run, format, out, signed=signed)
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {out}.")
