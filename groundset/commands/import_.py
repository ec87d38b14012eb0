"""`groundset import`: make a run from an external evaluation set."""

from pathlib import Path

from groundset.commands.declare import Command, Embedder, NewRun, Quiet
from groundset.options import CommandOptions, option
from groundset.printing import say
from groundset.sets.imports import IMPORTS


class ImportOptions(CommandOptions):
    """Make a run from an external evaluation set.

    Chunks and questions are embedded, questions are ranked and judged, and all are kept. The new run can be shown,
    reported, merged and exported like any other. Metadata of the set is kept for exports.
    """

    files: tuple[Path, ...] = option(..., "The files of the set, or their folder.", metavar="FILES...", argument=True)
    out: NewRun
    format: str | None = option(
        None,
        "; ".join(f"{row.name}: {row.about}" for row in IMPORTS.values()) + ".",
        metavar="NAME",
        show_default="detected from the files",
    )
    embedder: Embedder
    unanswered: bool = option(False, "Accept questions without an answer.")
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
