"""`groundset show`: print the samples and rejects of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from groundset.commands.declare import Command, Json, NewFile, RunFolder
from groundset.commands.output.tables import print_json
from groundset.commands.output.targets import check_out, name_of, note
from groundset.options import CommandOptions, option
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run
    from programs.types import Reject


class ShowOptions(CommandOptions):
    """Show the samples or the rejects of a run.

    Samples are shown with their contexts and score (the critic's probability that the question is good). Rejects of
    chunks with nothing left to ask are only counted, unless --step names their step.
    """

    run: RunFolder
    rejects: bool = option(False, "Show rejects instead of samples.")
    step: tuple[str, ...] = option((), "Show only rejects of these steps. Repeatable.", metavar="STEP,...")
    limit: int | None = option(None, "Show at most this many.", metavar="N", ge=1)
    id: str | None = option(None, "Show the samples whose id starts with this.", metavar="ID")
    out: NewFile | None = option(
        None,
        "With --rejects: write the refused questions as rows for `groundset judge questions`; - is standard output.",
        metavar="FILE.jsonl",
    )
    trail: bool = option(False, "Show the output of each step.")
    as_json: Json


def show(options: ShowOptions) -> None:
    """Print samples or rejects."""
    if options.id is not None and options.rejects:
        raise InputError("--id cannot be used with --rejects")
    for name, value in (("--step", options.step), ("--out", options.out)):
        if value and not options.rejects:
            raise InputError(f"{name} requires --rejects")
    if options.out is not None and options.as_json:
        raise InputError("--json cannot be used with --out")
    from groundset.commands.output.samples import print_rejects, print_samples, print_summary
    from groundset.run import Run
    from groundset.store.record import reject_row, sample_row
    from programs.trail import NOTHING_TO_ASK

    run = Run(options.run)
    steps = _steps(options.step, run.rejects)
    if options.out is not None:
        _write_refused(run, steps, options)
        return
    rejects = [reject for reject in run.rejects if (reject.step in steps if steps else reject.reason != NOTHING_TO_ASK)]
    left_out = 0 if steps or not options.rejects else len(run.rejects) - len(rejects)
    samples = [sample for sample in run.samples if options.id is None or sample.id.startswith(options.id)]
    if options.id is not None and not samples:
        raise InputError(f"--id {options.id}: no sample of {options.run} has an id that starts with this")
    rejects, samples = rejects[: options.limit], samples[: options.limit]
    if options.as_json:
        counts = {"kept": len(run), "refused": dict(Counter(reject.step for reject in run.rejects).most_common())}
        rows = {"rejects": [reject_row(reject) for reject in rejects], "left_out": left_out}
        document = rows if options.rejects else {"samples": [sample_row(sample) for sample in samples]}
        print_json({"run": str(options.run), **counts, **document})
        return
    thresholds = _thresholds(run.settings["compiled"])
    if options.rejects:
        print_rejects(rejects, thresholds)
    else:
        print_samples(samples, thresholds.get("judge"), trail=options.trail)
    if options.id is None:
        shown = (
            f"{len(rejects)} of {len(run.rejects)} rejects"
            if options.rejects
            else f"{len(samples)} of {len(run)} samples"
        )
        print_summary(shown, len(run), run.rejects, left_out=left_out)


def _thresholds(compiled: Mapping[str, Mapping[str, float | None]] | None) -> dict[str, float]:
    """Return the thresholds of compiled critics by step."""
    thresholds = {step: state.get("threshold") for step, state in (compiled or {}).items()}
    return {step: threshold for step, threshold in thresholds.items() if threshold is not None}


def _steps(values: Sequence[str], rejects: Sequence["Reject"]) -> frozenset[str]:
    """Parse --step; an empty set means all steps."""
    known = dict.fromkeys(reject.step for reject in rejects)
    steps = [name.strip() for names in values for name in names.split(",") if name.strip()]
    for name in steps:
        if name not in known:
            available = f"choose from {', '.join(known)}" if known else "the run has no rejects"
            raise InputError(f"--step {name}: no rejects of this step; {available}")
    return frozenset(steps)


def _write_refused(run: "Run", steps: frozenset[str], options: ShowOptions) -> None:
    from groundset.files import write_rows
    from groundset.store.items import refused_rows
    from groundset.store.record import run_files

    assert options.out is not None
    check_out(options.out, run_files(run.folder))
    with run.opened() as store:
        rows = list(islice(refused_rows(store, steps or None), options.limit))
    write_rows(options.out, rows)
    note(f"{len(rows)} refused questions: {name_of(options.out)}.", options.out)


COMMAND = Command("show", ShowOptions, show, rank=3)
