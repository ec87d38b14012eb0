"""`groundset import`: a set that was made elsewhere becomes a run."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_run
from groundset.options import DEFAULT_EMBEDDER
from groundset.printing import say
from groundset.sets.imports import IMPORTS


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES...", help="The files of the set, or their folder.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option(metavar="RUN", help="The folder of the new run.", show_default=False, callback=new_run)
    ],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="; ".join(f"{row.name}: {row.about}" for row in IMPORTS.values()) + ".",
            show_default="the one that the files can only be of",
        ),
    ] = None,
    embedder: Annotated[
        str, typer.Option(metavar="MODEL", help="The embedding model of the chunks and questions.")
    ] = DEFAULT_EMBEDDER,
    unanswered: Annotated[bool, typer.Option("--unanswered", help="Take questions without an answer too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Make a run of an evaluation set that was made elsewhere.

    Its chunks and questions are embedded, every question is searched among all chunks and judged by the critic, which
    refuses none. The run can then be shown, reported, merged and exported like any other; what the set says of its
    chunks and answers goes out again as it came.
    """
    from groundset.progress import Progress
    from groundset.sets.imports.importing import import_set

    with Progress(quiet=quiet) as progress:
        told = import_set(files, out, format=format, embedder=embedder, unanswered=unanswered, progress=progress)
    for line in () if quiet else told:
        say(line)
