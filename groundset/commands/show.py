"""`groundset show`: the samples and rejects of a run, to be read by a person."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from groundset.commands.declare import Command, Json, NewFile, RunFolder
from groundset.commands.output.tables import print_json
from groundset.commands.output.targets import check_out, name_of, tell
from groundset.options import CommandOptions, option
from programs.errors import InputError

Row = dict[str, Any]


class ShowOptions(CommandOptions):
    """Show the samples or the rejects of a run.

    Every sample comes with its contexts and its score: the probability that the question is good, by the critic. Of the
    rejects, chunks that had nothing left to ask are counted only, unless --step names their step.
    """

    run: RunFolder
    rejects: bool = option(False, "Show what was refused instead.")
    step: tuple[str, ...] = option((), "Of the rejects, show those of these steps. Repeatable.", metavar="STEP,...")
    limit: int | None = option(None, "Show at most this many.", metavar="N", ge=1)
    id: str | None = option(None, "Show the sample whose id is this or starts so.", metavar="ID")
    out: NewFile | None = option(
        None,
        "With --rejects: write the refused questions as rows for `groundset judge questions`; - is standard output.",
        metavar="FILE.jsonl",
    )
    trail: bool = option(False, "Show what each step said about the samples.")
    as_json: Json


def show(options: ShowOptions) -> None:
    """Print samples or rejects."""
    if options.id is not None and options.rejects:
        raise InputError("--id names a sample; leave --rejects out")
    for name, given in (("--step", options.step), ("--out", options.out)):
        if given and not options.rejects:
            raise InputError(f"{name} is about rejects; add --rejects")
    if options.out is not None and options.as_json:
        raise InputError("--json prints and --out writes a file; leave one of them out")
    kept, refused = read_rows(options.run, "samples.jsonl"), read_rows(options.run, "rejects.jsonl")
    steps = _steps(options.step, refused)
    if options.out is not None:
        _write_refused(options.run, steps, options.limit, options.out)
        return
    chosen = _rejects(refused, steps) if options.rejects else kept
    left_out = len(refused) - len(chosen) if options.rejects and steps is None else 0
    if options.id is not None:
        chosen = [row for row in kept if row["id"].startswith(options.id)]
        if not chosen:
            raise InputError(f"{options.run} holds no sample whose id starts with {options.id}")
    by_step = dict(Counter(row["step"] for row in refused).most_common())
    chosen = chosen[: options.limit]
    if options.as_json:
        rows = {"rejects": chosen, "left_out": left_out} if options.rejects else {"samples": chosen}
        print_json({"run": str(options.run), "kept": len(kept), "refused": by_step, **rows})
        return
    from groundset.commands.output.samples import print_rejects, print_samples, print_summary

    needed = _needed(options.run)
    if options.rejects:
        print_rejects(chosen, needed)
    else:
        print_samples(chosen, needed.get("judge"), trail=options.trail)
    if options.id is None:
        print_summary(len(chosen), len(kept), refused, rejects=options.rejects, left_out=left_out)


def read_rows(run: Path, name: str) -> list[Row]:
    """Return the rows of a file of a run folder.

    Raises:
        InputError: The folder is no run, the run has not got that far, or a row is not what a run writes; the message
            names its line.
    """
    from pydantic import ValidationError

    from programs.types import Reject, Sample

    file = run / name
    if not file.is_file():
        if (run / "run.sqlite").is_file():
            raise InputError(
                f"the run in {run} has not finished; the command that started it, given again, continues it"
            )
        raise InputError(f"{run} is not the folder of a run")
    kind = Reject if name == "rejects.jsonl" else Sample
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            if line:
                kind.model_validate_json(line, strict=True)
        except ValidationError as error:
            [first, *_] = error.errors(include_url=False, include_input=False)
            where = "".join(f" {part}" for part in first["loc"])
            problem = f"no {kind.__name__.lower()} of a run:{where and f'{where}:'} {first['msg']}"
            raise InputError(f"{file}, line {number}: {problem}") from error
    return [json.loads(line) for line in lines if line]


def _needed(run: Path) -> dict[str, float]:
    """Return by step the least score that its compiled critic lets pass, as far as the record of a run says."""
    from groundset.store.meta import check_meta

    try:
        states = check_meta("compiled", json.loads((run / "run.json").read_text(encoding="utf-8"))["compiled"]) or {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {step: state["threshold"] for step, state in states.items() if state.get("threshold") is not None}


def _steps(given: Sequence[str] | None, refused: Sequence[Row]) -> frozenset[str] | None:
    """Return the steps whose rejects are wanted, None for all."""
    if not given:
        return None
    known = dict.fromkeys(row["step"] for row in refused)
    named = [name.strip() for each in given for name in each.split(",") if name.strip()]
    for name in named:
        if name not in known:
            there = f"choose of {', '.join(known)}" if known else "nothing was refused"
            raise InputError(f"--step {name}: this run has no rejects of that step; {there}")
    return frozenset(named)


def _rejects(refused: Sequence[Row], steps: frozenset[str] | None) -> list[Row]:
    from programs.trail import NOTHING_TO_ASK

    if steps is None:
        return [row for row in refused if row["reason"] != NOTHING_TO_ASK]
    return [row for row in refused if row["step"] in steps]


def _write_refused(run: Path, steps: frozenset[str] | None, limit: int | None, out: Path) -> None:
    from groundset.files import write_rows
    from groundset.store.pieces import refused_rows
    from groundset.store.record import run_files
    from groundset.store.run_store import RunStore

    check_out(out, run_files(run))
    with RunStore.read(run) as store:
        rows = list(islice(refused_rows(store, steps), limit))
    write_rows(out, rows)
    tell(f"{len(rows)} refused questions: {name_of(out)}.", out)


COMMAND = Command("show", ShowOptions, show, rank=3)
