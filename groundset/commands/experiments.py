"""`groundset experiments`: list tracked compiles."""

from collections import Counter

from groundset.commands.declare import Command, Json, Tracking
from groundset.commands.output.tables import print_json, print_line, print_table
from groundset.commands.output.targets import print_store
from groundset.options import CommandOptions, option

_OMITTED = {"error", "started"}  # from --json


class ExperimentsOptions(CommandOptions):
    """List the compiles with the highest gains for each step and model.

    Shows the means on dev and test rows before and after, from 0 to 1. Trained weights are listed separately, because
    they are measured by the likelihood of gold rows, not by the metric of the step. `compared` is the number of
    candidates evaluated on all dev rows; 0 means that none was tested. A star marks the champion. Unfinished compiles
    are counted below.
    """

    step: str | None = option(None, "Only this step.", metavar="STEP")
    lm: str | None = option(None, "Only this model; head for the critic head.", metavar="MODEL")
    best: int = option(3, "Number of compiles per step, model and measure.", metavar="N", ge=1)
    as_json: Json
    tracking: Tracking


def experiments(options: ExperimentsOptions) -> None:
    """Print the compiles."""
    from groundset.tracking.compiles import CompileStore, best_of
    from groundset.tracking.location import display_uri

    store = CompileStore.open(options.tracking, create=False)
    found = [
        entry
        for entry in store.experiments()
        if options.step in (None, entry.step) and options.lm in (None, entry.model)
    ]
    listed = best_of(found, options.best)
    unfinished = Counter(entry.status.lower() for entry in found if not entry.finished)
    if options.as_json:
        compiles = [{key: value for key, value in entry._asdict().items() if key not in _OMITTED} for entry in listed]
        print_json({"store": display_uri(store.uri), "compiles": compiles, "unfinished": unfinished})
        return
    print_store(store.uri, is_default=store.is_default)
    if not found:
        print_line("No compiles tracked yet; run `groundset compile` first.")
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
        print_line(f"Unfinished: {counts}; `groundset ui` shows them.")


COMMAND = Command("experiments", ExperimentsOptions, experiments, rank=18)
