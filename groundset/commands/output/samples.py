"""Samples and rejects on a terminal, to be read by a person."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from groundset.printing import printable
from groundset.progress import counted
from groundset.store.tables import PASSED_OVER

Row = dict[str, Any]
_NARROW = 80  # below this many columns the trail is no table
_EXPLAINED = {
    "agreement": "how much of the expected answer the found one holds, from 0 to 1",
    "defines": "whether the question asks what something is",
    "easy": "whether the grammar of the sentence gives words that begin a good question",
    "fit": "the probability that all in all it is good, which decides",
    "meant": "the answer that the question was made for",
    "opening": "the words that the question is to begin with",
    "resolved": "the sentence with a name in place of it, he or she",
}


def print_samples(rows: Iterable[Row], needed: float | None, *, trail: bool) -> None:
    """Print samples with their contexts and scores; ``needed`` is the least score, ``trail`` adds what steps said."""
    console = Console(highlight=False, emoji=False)
    for row in rows:
        _print_sample(console, row, needed)
        if trail:
            _print_trail(console, row["trail"])


def print_rejects(rows: Iterable[Row], needed: Mapping[str, float]) -> None:
    """Print rejects: step, reason, question and chunk; ``needed`` is the least score by step."""
    console = Console(highlight=False, emoji=False)
    for row in rows:
        probability = row.get("probability")
        facts = [row["reason"], *([] if probability is None else [_score(probability, needed.get(row["step"]))])]
        console.print(f"[bold]{_safe(row['step'])}[/bold]  {_safe(', '.join(facts))}")
        for line in (row.get("question"), f"chunk {row['chunk_id']}"):
            if line:
                console.print(Padding(_safe(line), (0, 0, 0, 2)))
        console.print()


def print_summary(shown: int, kept: int, refused: Sequence[Row], *, rejects: bool, left_out: int) -> None:
    """Print how many of the samples or the rejects were shown, and how many there are of each step."""
    what = f"{shown} of {len(refused)} rejects" if rejects else f"{shown} of {kept} samples"
    questions = Counter(row["step"] for row in refused if not _is_passage(row))
    counts = ", ".join(f"{step} {count}" for step, count in questions.most_common())
    by_step = f" ({_safe(counts)})" if counts else ""
    passages = len(refused) - questions.total()
    apart = f"; {counted(passages, 'passage')} held nothing to ask" if passages else ""
    unasked = f" Left out: {left_out} chunks that had nothing left to ask (--step shows them)." if left_out else ""
    Console(highlight=False, emoji=False).print(
        f"Shown: {what}. Kept {kept}, refused {counted(questions.total(), 'question')}{by_step}{apart}.{unasked}"
    )


def _is_passage(row: Row) -> bool:
    return row["step"] in PASSED_OVER and row.get("question") is None


def _score(probability: float, needed: float | None) -> str:
    return f"score {probability:.2f}{'' if needed is None else f', at least {needed:.2f} is needed'}"


def _print_sample(console: Console, row: Row, needed: float | None) -> None:
    narrow = console.width < _NARROW
    retrieval = row["retrieval"]
    rank = f"found at rank {retrieval['rank']}" if retrieval["rank"] else "not found again"
    facts = [row["evolution"], row["language"], rank]
    heading = _safe(", ".join(facts))
    console.rule(f"[bold]{_safe(row['id'])}[/bold]{'' if narrow else f'  {heading}'}", align="left")
    if narrow:
        console.print(heading)
    body = Table.grid(padding=(0, 2))
    body.add_column(style="bold", no_wrap=True)
    body.add_column(overflow="fold")
    body.add_row("Question", _safe(row["question"]))
    body.add_row("Answer", _safe(row["answer"]))
    body.add_row("Good", _score(row["probability"], needed))
    for context in row["contexts"]:
        where = f"{context['path']}, characters {context['start']} to {context['end']}"
        topic = " > ".join(dict.fromkeys([context["title"], *context["headings"]]))
        body.add_row("Context", f"[italic]{_safe(topic)}[/italic] ({_safe(where)})")
        body.add_row("", _safe(context["text"], lines=True))
    console.print(body)
    console.print()


def _print_trail(console: Console, records: Sequence[Row]) -> None:
    """Print what the steps said of a sample, and what those of their words mean that do not speak for themselves."""
    if console.width < _NARROW:
        _print_lines(console, records)
    else:
        console.print(_trail(records))
    used = {name for record in records for name in record.get("output", {})}
    for name in sorted(used & _EXPLAINED.keys()):
        console.print(Padding(f"{name}: {_EXPLAINED[name]}", (0, 0, 0, 2)), style="dim")
    console.print()


def _print_lines(console: Console, records: Iterable[Row]) -> None:
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
