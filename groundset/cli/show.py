"""`groundset show`: the samples and rejects of a run, to be read by a person."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from programs.errors import InputError

Row = dict[str, Any]


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    rejects: Annotated[bool, typer.Option("--rejects", help="Show what was refused instead.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show at most this many.")] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Show the sample whose id is this or starts so."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON lines.")] = False,
) -> None:
    """Show the samples or the rejects of a run.

    Every sample comes with its contexts and its trail: what each step said about it.
    """
    if id is not None and rejects:
        raise InputError("--id names a sample; leave --rejects out")
    rows = read_rows(run, "rejects.jsonl" if rejects else "samples.jsonl")
    chosen = [row for row in rows if row["id"].startswith(id)] if id is not None else rows
    if id is not None and not chosen:
        raise InputError(f"{run} holds no sample whose id starts with {id}")
    chosen = chosen[:limit]
    if as_json:
        for row in chosen:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if rejects:
        _print_rejects(console, chosen)
    else:
        for row in chosen:
            _print_sample(console, row)
    if id is None:
        _print_summary(console, run, len(chosen), rejects)


def read_rows(run: Path, name: str) -> list[Row]:
    """Return the rows of a file of a run folder.

    Raises:
        InputError: The folder is no run, or the run has not got that far.
    """
    file = run / name
    if not file.is_file():
        if (run / "run.sqlite").is_file():
            raise InputError(
                f"the run in {run} has not finished; the command that started it, given again, continues it"
            )
        raise InputError(f"{run} is not the folder of a run")
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {error}") from error


def _print_sample(console: Console, row: Row) -> None:
    retrieval = row["retrieval"]
    rank = f"found at rank {retrieval['rank']}" if retrieval["rank"] else "not found again"
    facts = [row["evolution"], row["language"], f"good with {row['probability']:.2f}", rank]
    console.rule(f"[bold]{_safe(row['id'])}[/bold]  {_safe(', '.join(facts))}", align="left")
    body = Table.grid(padding=(0, 2))
    body.add_column(style="bold", no_wrap=True)
    body.add_column(overflow="fold")
    body.add_row("Question", _safe(row["question"]))
    body.add_row("Answer", _safe(row["answer"]))
    for context in row["contexts"]:
        where = f"{context['path']}, characters {context['start']} to {context['end']}"
        topic = " > ".join(dict.fromkeys([context["title"], *context["headings"]]))
        body.add_row("Context", f"[italic]{_safe(topic)}[/italic] ({_safe(where)})")
        body.add_row("", _safe(context["text"]))
    console.print(body)
    console.print()
    console.print(_trail(row["trail"]))
    console.print()


def _trail(records: Iterable[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), title="Trail", title_justify="left", title_style="bold")
    for heading in ("Step", "Candidate", "Verdict", "Probability"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    table.add_column("What it said", overflow="fold", header_style="dim")
    for record in records:
        probability = record.get("probability")
        said = [f"{name}: {_plain(value)}" for name, value in record.get("output", {}).items()]
        said += [record["reason"]] if record.get("reason") else []
        table.add_row(
            _safe(record["step"]),
            str(record.get("candidate", 0)),
            record.get("verdict") or "",
            "" if probability is None else f"{probability:.2f}",
            _safe("; ".join(said)),
        )
    return table


def _print_rejects(console: Console, rows: Sequence[Row]) -> None:
    for row in rows:
        probability = row.get("probability")
        facts = [row["reason"], *([] if probability is None else [f"good with {probability:.2f}"])]
        console.print(f"[bold]{_safe(row['step'])}[/bold]  {_safe(', '.join(facts))}")
        for line in (row.get("question"), f"chunk {row['chunk_id']}"):
            if line:
                console.print(Padding(_safe(line), (0, 0, 0, 2)))
        console.print()


def _print_summary(console: Console, run: Path, shown: int, rejects: bool) -> None:
    refused = read_rows(run, "rejects.jsonl")
    kept = len(read_rows(run, "samples.jsonl"))
    what = f"{shown} of {len(refused)} rejects" if rejects else f"{shown} of {kept} samples"
    steps = ", ".join(f"{step} {count}" for step, count in Counter(row["step"] for row in refused).most_common())
    by_step = f" ({_safe(steps)})" if steps else ""
    console.print(f"Shown: {what}. Kept {kept}, refused {len(refused)}{by_step}.")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _safe(text: str) -> str:
    """Return model or document text without control characters, and without meaning as markup."""
    kept = (character for character in text if character in "\n\t" or unicodedata.category(character) != "Cc")
    return escape("".join(kept))
