"""Samples and rejects on a terminal, to be read by a person."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from groundset.printing import printable

Row = dict[str, Any]
_NARROW = 80  # below this many columns the trail is no table


def print_samples(rows: Iterable[Row]) -> None:
    """Print samples with their contexts and trails."""
    console = Console(highlight=False, emoji=False)
    for row in rows:
        _print_sample(console, row)


def print_rejects(rows: Iterable[Row]) -> None:
    """Print rejects: step, reason, question and chunk."""
    console = Console(highlight=False, emoji=False)
    for row in rows:
        probability = row.get("probability")
        facts = [row["reason"], *([] if probability is None else [f"good with {probability:.2f}"])]
        console.print(f"[bold]{_safe(row['step'])}[/bold]  {_safe(', '.join(facts))}")
        for line in (row.get("question"), f"chunk {row['chunk_id']}"):
            if line:
                console.print(Padding(_safe(line), (0, 0, 0, 2)))
        console.print()


def print_summary(shown: int, kept: int, refused: Mapping[str, int], *, rejects: bool, left_out: int) -> None:
    """Print how many of the samples or the rejects were shown, and how many there are of each step."""
    total = sum(refused.values())
    what = f"{shown} of {total} rejects" if rejects else f"{shown} of {kept} samples"
    by_step = f" ({_safe(', '.join(f'{step} {count}' for step, count in refused.items()))})" if refused else ""
    unasked = f" Left out: {left_out} chunks that had nothing left to ask (--step shows them)." if left_out else ""
    Console(highlight=False, emoji=False).print(f"Shown: {what}. Kept {kept}, refused {total}{by_step}.{unasked}")


def _print_sample(console: Console, row: Row) -> None:
    narrow = console.width < _NARROW
    retrieval = row["retrieval"]
    rank = f"found at rank {retrieval['rank']}" if retrieval["rank"] else "not found again"
    facts = [row["evolution"], row["language"], f"good with {row['probability']:.2f}", rank]
    told = _safe(", ".join(facts))
    console.rule(f"[bold]{_safe(row['id'])}[/bold]{'' if narrow else f'  {told}'}", align="left")
    if narrow:
        console.print(told)
    body = Table.grid(padding=(0, 2))
    body.add_column(style="bold", no_wrap=True)
    body.add_column(overflow="fold")
    body.add_row("Question", _safe(row["question"]))
    body.add_row("Answer", _safe(row["answer"]))
    for context in row["contexts"]:
        where = f"{context['path']}, characters {context['start']} to {context['end']}"
        topic = " > ".join(dict.fromkeys([context["title"], *context["headings"]]))
        body.add_row("Context", f"[italic]{_safe(topic)}[/italic] ({_safe(where)})")
        body.add_row("", _safe(context["text"], lines=True))
    console.print(body)
    console.print()
    if narrow:
        _print_trail(console, row["trail"])
    else:
        console.print(_trail(row["trail"]))
    console.print()


def _print_trail(console: Console, records: Iterable[Row]) -> None:
    console.print("[bold]Trail[/bold]")
    for record in records:
        step, candidate, *facts, said = _told(record)
        console.print(", ".join(filter(None, (step, f"candidate {candidate}", *facts))))
        console.print(Padding(said, (0, 0, 0, 2)))


def _trail(records: Iterable[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), title="Trail", title_justify="left", title_style="bold")
    for heading in ("Step", "Candidate", "Verdict", "Probability"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    table.add_column("What it said", overflow="fold", header_style="dim")
    for record in records:
        table.add_row(*_told(record))
    return table


def _told(record: Row) -> tuple[str, str, str, str, str]:
    """Return step, candidate, verdict, probability and words of a record."""
    probability = record.get("probability")
    said = [f"{name}: {_plain(value)}" for name, value in record.get("output", {}).items()]
    said += [record["reason"]] if record.get("reason") else []
    return (
        _safe(record["step"]),
        str(record.get("candidate", 0)),
        record.get("verdict") or "",
        "" if probability is None else f"{probability:.2f}",
        _safe("; ".join(said)),
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _safe(text: str, *, lines: bool = False) -> str:
    """Return model or document text that cannot steer the terminal, and without meaning as markup."""
    return escape(printable(text, lines=lines))
