"""`groundset import`: make a run from an evaluation set made elsewhere."""

from pathlib import Path

from groundset.commands.declare import Command, Embedder, NewRun, Quiet
from groundset.options import CommandOptions, option
from groundset.printing import say
from groundset.sets.imports import IMPORTS


class ImportOptions(CommandOptions):
    """Make a run of an evaluation set that was made elsewhere.

    Its chunks and questions are embedded, every question is searched among all chunks and judged by the critic, which
    refuses none. The run can then be shown, reported, merged and exported like any other; what the set says of its
    chunks and answers goes out again as it came.
    """

    files: tuple[Path, ...] = option(..., "The files of the set, or their folder.", metavar="FILES...", argument=True)
    out: NewRun
    format: str | None = option(
        None,
        "; ".join(f"{row.name}: {row.about}" for row in IMPORTS.values()) + ".",
        metavar="NAME",
        show_default="the one that the files can only be of",
    )
    embedder: Embedder
    unanswered: bool = option(False, "Take questions without an answer too.")
    quiet: Quiet


def import_files(options: ImportOptions) -> list[str]:
    """Import the set and return the summary of the new run."""
    from groundset.progress import Progress
    from groundset.sets.importing import import_set

    with Progress(quiet=options.quiet) as progress:
        return import_set(
            options.files,
            options.out,
            format=options.format,
            embedder=options.embedder,
            unanswered=options.unanswered,
            progress=progress,
        )


def _import(options: ImportOptions) -> None:
    summary = import_files(options)
    for line in () if options.quiet else summary:
        say(line)


COMMAND = Command("import", ImportOptions, _import, rank=10)
