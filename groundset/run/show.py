"""`groundset show`: the samples and rejects of a run on a terminal, or as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from groundset.files import json_text
from groundset.options import Options, option
from groundset.printing import printable, say, say_lines
from groundset.run.record import account, sample_row
from groundset.run.run import open_run
from programs.errors import InputError
from programs.text import plain
from programs.types import Chunk, Reject, Sample


class ShowOptions(Options):
    """Show the samples of a run with their passages, or what was refused and why."""

    run: Path = option(..., "The folder of the run.", metavar="RUN", argument=True)
    rejects: bool = option(False, "Show what was refused.")
    step: tuple[str, ...] = option((), "With --rejects: only those of this step. Repeatable.", metavar="STEP")
    id: str | None = option(None, "Show the samples whose id begins with this.", metavar="ID")
    limit: int | None = option(None, "Show at most this many.", metavar="N", ge=1)
    trail: bool = option(False, "Also show what each step said.")
    as_json: bool = option(False, "Print JSON.", command_only=True)


def show(options: ShowOptions) -> None:
    """Print samples or rejects.

    Raises:
        InputError: an option is wrong, or the folder holds no run.
    """
    if options.id and options.rejects:
        raise InputError("--id: not together with --rejects")
    if options.step and not options.rejects:
        raise InputError("--step: only with --rejects")
    run = open_run(options.run)
    samples = [each for each in run.samples if each.id.startswith(options.id or "")][: options.limit]
    if options.id and not samples:
        raise InputError(f"--id {options.id}: no sample of {options.run} has an id that begins with this")
    steps = {reject.step for reject in run.rejects}
    if unknown := [step for step in options.step if step not in steps]:
        known = ", ".join(sorted(steps)) or "none"
        raise InputError(f"--step {unknown[0]}: it refused nothing; steps that did: {known}")
    rejects = [each for each in run.rejects if each.step in (options.step or steps)][: options.limit]
    if options.as_json:
        what, rows = "samples", list(map(sample_row, samples))
        if options.rejects:
            chunks = [run.chunks.get(each.chunk_id) for each in rejects]
            passages = [plain(chunk.text) if chunk else "" for chunk in chunks]
            found = zip(rejects, passages, strict=True)
            what, rows = "rejects", [{**each.model_dump(mode="json"), "passage": passage} for each, passage in found]
        say_lines(json_text({"run": str(run.folder), what: rows}, indent=2))
        return
    console = Console(highlight=False, emoji=False)
    for reject in rejects if options.rejects else ():
        _print_reject(console, reject, run.chunks.get(reject.chunk_id))
    for sample in () if options.rejects else samples:
        _print_sample(console, sample, trail=options.trail)
    if not options.id:
        for line in account(run):
            say(line)


def _print_sample(console: Console, sample: Sample, *, trail: bool) -> None:
    rank = sample.retrieval.rank
    found = "no chunk answers it" if not sample.retrieval_gt else f"rank {rank}" if rank else "not found again"
    score = "" if sample.probability is None else f", {sample.probability:.2f}"
    console.rule(f"[bold]{_safe(sample.id)}[/bold]  {_safe(sample.evolution)}, {found}{score}", align="left")
    console.print(f"[bold]{_safe(sample.question)}[/bold]\n{_safe(sample.answer)}")
    _print_chunks(console, sample.contexts)
    for record in sample.trail if trail else ():
        console.print(f"[bold]{_safe(record.step)}[/bold] {_safe(json.dumps(record.output, ensure_ascii=False))}")
    console.print()


def _print_reject(console: Console, reject: Reject, chunk: Chunk | None) -> None:
    score = "" if reject.probability is None else f" ({reject.probability:.2f})"
    console.print(f"[bold]{_safe(reject.step)}[/bold]  {_safe(reject.reason)}{score}")
    if reject.question:
        console.print(Padding(_safe(reject.question), (0, 0, 0, 2)))
    if chunk is not None:
        _print_chunks(console, [chunk])
    console.print()


def _print_chunks(console: Console, chunks: Sequence[Chunk]) -> None:
    for chunk in chunks:
        console.print(Padding(f"[italic]{_safe(chunk.topic)}[/italic] ({_safe(chunk.path)})", (0, 0, 0, 2)))
        console.print(Padding(_safe(plain(chunk.text), lines=True), (0, 0, 0, 4)))


def _safe(text: str, *, lines: bool = False) -> str:
    return escape(printable(text, lines=lines))
