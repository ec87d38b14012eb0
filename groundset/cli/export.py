"""`groundset export`: a run in the format of another tool."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from groundset.exports import EXPORTS
from programs.errors import InputError


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="; ".join(f"{row.name}: {row.about}" for row in EXPORTS.values()) + ".",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder that the files go to.", show_default=False)],
) -> None:
    """Write a run in the format of another tool.

    The questions are its samples, the corpus is all of its chunks. Files of an earlier export are replaced; a
    folder that holds anything else is refused.
    """
    from groundset.runs.store import RunStore

    if format not in EXPORTS:
        raise InputError(f"--format {format}: no such format; choose one of {', '.join(EXPORTS)}")
    with RunStore.read(run) as store:
        begun, _ = store.spent()
        exported = EXPORTS[format].write(
            list(store.results.samples()),
            store.chunks(),
            store.documents(),
            out,
            made_at=datetime.fromisoformat(begun) if begun else datetime.now(UTC),
        )
    typer.echo(f"{exported.questions} questions and {exported.chunks} chunks: {out}.")
