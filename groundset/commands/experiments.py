"""`groundset experiments`: list tracked compiles."""

from collections import Counter

from groundset.commands.declare import Command, Json, Tracking
from groundset.commands.output.tables import print_json, print_line, print_table
from groundset.commands.output.targets import say_where
from groundset.options import CommandOptions, option

_HIDDEN = {"error", "started"}


class ExperimentsOptions(CommandOptions):
    """List the best compiles of each step and model.

    Shows the mean on dev and test rows before and after, from 0 to 1. Trained weights are listed separately, because
    they are measured by the likelihood of gold rows instead of the metric of the step. `compared` counts the candidates
    that were evaluated on all dev rows. A star marks the champion. Unfinished compiles are counted below.
    """

    step: str | None = option(None, "Only this step.", metavar="STEP")
    lm: str | None = option(None, "Only this model; head is the critic head.", metavar="MODEL")
    best: int = option(3, "Compiles to list for each step, model and measure.", metavar="N", ge=1)
    as_json: Json
    tracking: Tracking


def experiments(options: ExperimentsOptions) -> None:
    """Print the compiles."""
    from groundset.tracking.compiles import CompileStore, best_of
    from groundset.tracking.location import shown

    store = CompileStore.open(options.tracking, create=False)
    found = [
        entry
        for entry in store.experiments()
        if options.step in (None, entry.step) and options.lm in (None, entry.model)
    ]
    listed = best_of(found, options.best)
    unfinished = Counter(entry.status.lower() for entry in found if not entry.finished)
    if options.as_json:
        compiles = [{key: value for key, value in entry._asdict().items() if key not in _HIDDEN} for entry in listed]
        print_json({"store": shown(store.uri), "compiles": compiles, "unfinished": unfinished})
        return
    say_where(store.uri, usual=store.usual)
    if not found:
        print_line("No compiles tracked; run `groundset compile` first.")
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
        print_line(f"Not finished: {counts}. `groundset ui` shows them.")


COMMAND = Command("experiments", ExperimentsOptions, experiments, rank=18)
