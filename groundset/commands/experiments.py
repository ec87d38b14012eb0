"""`groundset experiments` and `groundset promote`: what was compiled, and which of it is in use."""

from collections import Counter
from typing import Annotated

import typer

from groundset.commands.tables import print_json, print_line, print_table
from groundset.commands.tracking import TrackingOption, say_where
from groundset.printing import say

_NOT_LISTED = {"error", "started"}  # of the fields of a compile


def experiments(
    step: Annotated[str | None, typer.Option(metavar="STEP", help="Only this step.")] = None,
    lm: Annotated[str | None, typer.Option(metavar="MODEL", help="Only this model; head for the critic head.")] = None,
    best: Annotated[int, typer.Option(min=1, metavar="N", help="How many of each step, model and measure.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    tracking: TrackingOption = None,
) -> None:
    """List the compiles of each step and model that gained most.

    Means on dev and test rows, before and after, between 0 and 1. Trained weights are listed apart, because they are
    measured by the likelihood of gold rows, not by the metric of the step. `compared` counts the candidates that were
    evaluated on all dev rows; with 0 nothing was tested. The champion is marked with a star. Compiles that did not
    finish are counted below.
    """
    from groundset.tracking.compiles import CompileStore, best_of
    from groundset.tracking.place import shown

    store = CompileStore.open(tracking, create=False)
    found = [entry for entry in store.experiments() if step in (None, entry.step) and lm in (None, entry.model)]
    listed = best_of(found, best)
    unfinished = Counter(entry.status.lower() for entry in found if not entry.finished)
    if as_json:
        compiles = [
            {key: value for key, value in entry._asdict().items() if key not in _NOT_LISTED} for entry in listed
        ]
        print_json({"store": shown(store.uri), "compiles": compiles, "unfinished": unfinished})
        return
    say_where(store.uri, usual=store.usual)
    if not found:
        print_line("No compile is tracked here; groundset compile makes one.")
        return
    rows = [
        (
            entry.step,
            entry.model,
            entry.optimizer,
            *(
                f"{entry.before[split]:.3f} to {entry.after[split]:.3f}" if split in entry.after else "-"
                for split in ("dev", "test")
            ),
            "-" if entry.compared is None else f"{entry.compared}",
            f"{entry.calls:,}",
            f"{entry.run_id}{' *' if entry.champion else ''}",
        )
        for entry in listed
    ]
    if rows:
        print_table(("step", "model", "optimizer", "dev", "test", "compared", "calls", "run"), rows)
    if unfinished:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(unfinished.items()))
        print_line(f"Not finished: {counts}. groundset ui shows them.")


def promote(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="A compile; groundset experiments lists them.")],
    tracking: TrackingOption = None,
) -> None:
    """Make a compile the champion of its step and model.

    It must beat the present champion on dev rows beyond noise; otherwise nothing changes and the exit status is 2.
    The gain on test rows is only printed. `groundset generate --compiled champion` uses the champions.
    """
    from groundset.tracking.compiles import CompileStore
    from groundset.tracking.promotion import promote as make_champion

    store = CompileStore.open(tracking, create=False)
    say_where(store.uri, usual=store.usual)
    name, gains = make_champion(store, run_id)
    on_rows = ", ".join(f"on {split} rows {gain}" for split, gain in gains.items())
    say(f"{name}: {run_id} is the champion. Gain {on_rows}.")
