"""Print samples and rejects on a terminal."""

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
from groundset.store.tables import SKIPPING_STEPS
from programs.types import Reject, Sample, StepRecord

_NARROW = 80  # columns; narrower terminals show the trail as lines instead of a table
_OUTPUT_HELP = {
    "agreement": "overlap of the answer found with the expected answer, from 0 to 1",
    "defines": "whether the question asks what something is",
    "easy": "whether sentence syntax gives the opening of a good question",
    "fit": "overall probability that the question is good, which is compared with the threshold",
    "meant": "the expected answer",
    "opening": "the required first words of the question",
    "resolved": "the sentence with pronouns replaced by names",
}


def print_samples(samples: Iterable[Sample], threshold: float | None, *, trail: bool) -> None:
    """Print samples with their contexts and scores; ``trail`` adds the output of steps."""
    console = Console(highlight=False, emoji=False)
    for sample in samples:
        _print_sample(console, sample, threshold)
        if trail:
            _print_trail(console, sample.trail)


def print_rejects(rejects: Iterable[Reject], thresholds: Mapping[str, float]) -> None:
    """Print rejects: step, reason, question and chunk."""
    console = Console(highlight=False, emoji=False)
    for reject in rejects:
        score = [] if reject.probability is None else [_score(reject.probability, thresholds.get(reject.step))]
        console.print(f"[bold]{_safe(reject.step)}[/bold]  {_safe(', '.join([reject.reason, *score]))}")
        for line in (reject.question, f"chunk {reject.chunk_id}"):
            if line:
                console.print(Padding(_safe(line), (0, 0, 0, 2)))
        console.print()


def print_summary(shown: str, kept: int, rejects: Sequence[Reject], *, left_out: int) -> None:
    """Print the number of items shown, the number of samples, and the number of rejects by step."""
    questions = Counter(reject.step for reject in rejects if reject.question or reject.step not in SKIPPING_STEPS)
    counts = ", ".join(f"{step} {count}" for step, count in questions.most_common())
    by_step = f" ({_safe(counts)})" if counts else ""
    passages = len(rejects) - questions.total()
    skipped = f"; skipped {counted(passages, 'passage')} with nothing to ask" if passages else ""
    hidden = f" Not shown: {left_out} chunks with nothing left to ask (use --step)." if left_out else ""
    Console(highlight=False, emoji=False).print(
        f"Shown: {shown}. Kept {kept}, refused {counted(questions.total(), 'question')}{by_step}{skipped}.{hidden}"
    )


def _score(probability: float, threshold: float | None) -> str:
    return f"score {probability:.2f}{'' if threshold is None else f' (threshold {threshold:.2f})'}"


def _print_sample(console: Console, sample: Sample, threshold: float | None) -> None:
    narrow = console.width < _NARROW
    rank = f"found at rank {sample.retrieval.rank}" if sample.retrieval.rank else "not found again"
    if not sample.answerable:
        rank = "no chunk answers it"
    heading = _safe(f"{sample.evolution}, {sample.language}, {rank}")
    console.rule(f"[bold]{_safe(sample.id)}[/bold]{'' if narrow else f'  {heading}'}", align="left")
    if narrow:
        console.print(heading)
    body = Table.grid(padding=(0, 2))
    body.add_column(style="bold", no_wrap=True)
    body.add_column(overflow="fold")
    body.add_row("Question", _safe(sample.question))
    body.add_row("Answer", _safe(sample.answer))
    body.add_row("Good", _score(sample.probability, threshold))
    for chunk in sample.contexts:
        where = f"{chunk.path}, characters {chunk.start} to {chunk.end}"
        topic = " > ".join(dict.fromkeys([chunk.title, *chunk.headings]))
        body.add_row("Context", f"[italic]{_safe(topic)}[/italic] ({_safe(where)})")
        body.add_row("", _safe(chunk.text, lines=True))
    console.print(body)
    console.print()


def _print_trail(console: Console, records: Sequence[StepRecord]) -> None:
    """Print the trail of a sample, and explain its outputs."""
    if console.width < _NARROW:
        _print_lines(console, records)
    else:
        console.print(_trail(records))
    for name in sorted(_OUTPUT_HELP.keys() & {name for record in records for name in record.output}):
        console.print(Padding(f"{name}: {_OUTPUT_HELP[name]}", (0, 0, 0, 2)), style="dim")
    console.print()


def _print_lines(console: Console, records: Iterable[StepRecord]) -> None:
    console.print("[bold]Trail[/bold]")
    for record in records:
        step, candidate, *facts, output = _cells(record)
        console.print(", ".join(filter(None, (step, f"candidate {candidate}", *facts))))
        console.print(Padding(output, (0, 0, 0, 2)))


def _trail(records: Iterable[StepRecord]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), title="Trail", title_justify="left", title_style="bold")
    for heading in ("Step", "Candidate", "Verdict", "Probability"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    table.add_column("Output", overflow="fold", header_style="dim")
    for record in records:
        table.add_row(*_cells(record))
    return table


def _cells(record: StepRecord) -> tuple[str, str, str, str, str]:
    """Return the step, candidate, verdict, probability and output of a record."""
    output = [f"{name}: {_plain(value)}" for name, value in record.output.items()]
    return (
        _safe(record.step),
        str(record.candidate),
        record.verdict or "",
        "" if record.probability is None else f"{record.probability:.2f}",
        _safe("; ".join([*output, record.reason] if record.reason else output)),
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _safe(text: str, *, lines: bool = False) -> str:
    """Escape markup and control characters."""
    return escape(printable(text, lines=lines))
