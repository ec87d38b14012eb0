"""`groundset show`: the samples and rejects of a run, to be read by a person."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from groundset.commands.outputs import check_out, name_of, new_file, tell
from groundset.commands.tables import print_json
from programs.errors import InputError

Row = dict[str, Any]


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    rejects: Annotated[bool, typer.Option("--rejects", help="Show what was refused instead.")] = False,
    step: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP,...", help="Of the rejects, show those of these steps. Repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show at most this many.")] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Show the sample whose id is this or starts so."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="With --rejects: write the refused questions as rows for `groundset judge questions`; - is standard "
            "output.",
            callback=new_file,
        ),
    ] = None,
    trail: Annotated[bool, typer.Option("--trail", help="Show what each step said about the samples.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the samples or the rejects of a run.

    Every sample comes with its contexts and its score: the probability that the question is good, by the critic. Of the
    rejects, chunks that had nothing left to ask are counted only, unless --step names their step.
    """
    if id is not None and rejects:
        raise InputError("--id names a sample; leave --rejects out")
    for name, given in (("--step", step), ("--out", out)):
        if given and not rejects:
            raise InputError(f"{name} is about rejects; add --rejects")
    if out is not None and as_json:
        raise InputError("--json prints and --out writes a file; leave one of them out")
    kept, refused = read_rows(run, "samples.jsonl"), read_rows(run, "rejects.jsonl")
    steps = _steps(step, refused)
    if out is not None:
        _write_refused(run, steps, limit, out)
        return
    chosen = _rejects(refused, steps) if rejects else kept
    left_out = len(refused) - len(chosen) if rejects and steps is None else 0
    if id is not None:
        chosen = [row for row in kept if row["id"].startswith(id)]
        if not chosen:
            raise InputError(f"{run} holds no sample whose id starts with {id}")
    by_step = dict(Counter(row["step"] for row in refused).most_common())
    chosen = chosen[:limit]
    if as_json:
        rows = {"rejects": chosen, "left_out": left_out} if rejects else {"samples": chosen}
        print_json({"run": str(run), "kept": len(kept), "refused": by_step, **rows})
        return
    from groundset.commands.reading import print_rejects, print_samples, print_summary

    needed = _needed(run)
    if rejects:
        print_rejects(chosen, needed)
    else:
        print_samples(chosen, needed.get("judge"), trail=trail)
    if id is None:
        print_summary(len(chosen), len(kept), refused, rejects=rejects, left_out=left_out)


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
            told = f"no {kind.__name__.lower()} of a run:{where and f'{where}:'} {first['msg']}"
            raise InputError(f"{file}, line {number}: {told}") from error
    return [json.loads(line) for line in lines if line]


def _needed(run: Path) -> dict[str, float]:
    """Return by step the least score that its compiled critic lets pass, as far as the record of a run says."""
    from groundset.store.meta import check_meta

    try:
        told = check_meta("compiled", json.loads((run / "run.json").read_text(encoding="utf-8"))["compiled"]) or {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {step: state["threshold"] for step, state in told.items() if state.get("threshold") is not None}


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
    from groundset.store.record import run_files
    from groundset.store.refused import refused_rows
    from groundset.store.run_store import RunStore

    check_out(out, run_files(run))
    with RunStore.read(run) as store:
        rows = list(islice(refused_rows(store, steps), limit))
    write_rows(out, rows)
    tell(f"{len(rows)} refused questions: {name_of(out)}.", out)
