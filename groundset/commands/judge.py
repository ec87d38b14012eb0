"""`groundset judge`: the critics alone, over chunks or questions in a JSONL file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import check_out, name_of, new_file, tell
from groundset.commands.tracking import TrackingOption
from groundset.engine.judging import FIELDS, Kind, Row, check_row, judged_rows, judging_lm
from groundset.options import DEFAULT_EMBEDDER
from groundset.rows import jsonl_rows
from programs.errors import InputError


def judge(
    kind: Annotated[
        Kind,
        typer.Argument(metavar="chunks|questions", help="What the rows hold: `text`, or `question` and `passage`."),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rows: one JSON object in each line.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE.jsonl",
            help="Where the judged rows go; - is standard output.",
            show_default=False,
            callback=new_file,
        ),
    ],
    critic: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who decides: head (quick, no language model), lm, ensemble of both, or verdict (a language model "
            "that says why).",
        ),
    ] = "head",
    lm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The language model of the critics lm, ensemble and verdict."),
    ] = None,
    critic_lm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The same, by the name that generate has for it.")
    ] = None,
    embedder: Annotated[
        str, typer.Option(metavar="MODEL", help="The embedding model of the critics head and ensemble.")
    ] = DEFAULT_EMBEDDER,
    compiled: Annotated[
        str, typer.Option(metavar="WHICH", help="Compiled states: shipped, champion, none or a folder of your own.")
    ] = "shipped",
    tracking: TrackingOption = None,
) -> None:
    """Judge chunks or questions, each by itself.

    Adds to every row `probability` (of being good), `verdict` (good or bad), `scores` (what the critic says of each
    part) and `weakest` (the part with the lowest probability); the critic verdict adds `reasons`. All other keys stay
    as they are, in their order. A question without `passage` is judged on the texts of its `contexts`, so samples.jsonl
    of a run will do. The output appears whole or not at all. Finished calls of a language model are kept in
    FILE.jsonl.calls until it does, so the same command goes on after an interruption.
    """
    check_out(out, [file])
    from groundset.files import is_stream, json_line, whole_text
    from groundset.progress import Progress
    from groundset.store.call_file import CallFile

    model = judging_lm(critic, lm, critic_lm)
    rows = read_rows(file, FIELDS[kind])
    journal = None if model is None or is_stream(out) else CallFile(out.with_name(f"{out.name}.calls"))
    good = 0
    with Progress() as progress, whole_text(out) as stream:
        for row in judged_rows(
            kind,
            rows,
            progress,
            critic=critic,
            lm=model,
            embedder=embedder,
            compiled=compiled,
            tracking=tracking,
            journal=journal,
        ):
            good += row["verdict"] == "good"
            stream.write(json_line(row))
    if journal is not None:
        journal.remove()
    tell(f"Judged {len(rows)} {kind}: {good} good, {len(rows) - good} bad. Rows: {name_of(out)}.", out)


def read_rows(file: Path, wanted: Sequence[str]) -> list[Row]:
    """Return the rows of a JSONL file, each with the named texts; blank lines are passed over.

    Raises:
        InputError: A row is not what it should be; the message names its line.
    """
    rows = []
    try:
        for where, fields in jsonl_rows(file):
            check_row(fields, wanted, where)
            rows.append(dict(fields))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    if not rows:
        raise InputError(f"{file} holds no rows")
    return rows
