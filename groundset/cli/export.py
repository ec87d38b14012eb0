"""`groundset export`: a run in the format of another tool."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    format: Annotated[
        Literal["autorag"],
        typer.Option(metavar="NAME", help="autorag: qa.parquet and corpus.parquet.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder that the files go to.", show_default=False)],
) -> None:
    """Write a run in the format of another tool.

    The questions are its samples, the corpus is all of its chunks. Files of an earlier export are replaced; a
    folder that holds anything else is refused.
    """
    from groundset.exports import EXPORTS
    from groundset.runs.store import RunStore

    with RunStore.read(run) as store:
        begun, _ = store.spent()
        exported = EXPORTS[format](
            list(store.results.samples()),
            store.chunks(),
            store.documents(),
            out,
            made_at=datetime.fromisoformat(begun) if begun else datetime.now(UTC),
        )
    typer.echo(f"{exported.questions} questions and {exported.chunks} chunks: {out}.")
