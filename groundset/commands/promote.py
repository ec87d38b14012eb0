"""`groundset promote`: make a compile the champion."""

from groundset.commands.declare import Command, Tracking
from groundset.commands.output.targets import print_store
from groundset.options import CommandOptions, option
from groundset.printing import say


class PromoteOptions(CommandOptions):
    """Make a compile the champion of its step and model.

    Its gain over the current champion on dev rows must be significant; otherwise nothing changes and the exit status is
    2. The gain on test rows is only printed. Use champions with `groundset generate --compiled champion`.
    """

    run_id: str = option(
        ..., "The id of a compile; `groundset experiments` lists them.", metavar="RUN_ID", argument=True
    )
    tracking: Tracking


def promote(options: PromoteOptions) -> None:
    """Make the compile the champion and print its gain."""
    from groundset.tracking.compiles import CompileStore
    from groundset.tracking.promotion import promote as make_champion

    store = CompileStore.open(options.tracking, create=False)
    print_store(store.uri, is_default=store.is_default)
    name, gains = make_champion(store, options.run_id)
    on_rows = ", ".join(f"on {split} rows {gain}" for split, gain in gains.items())
    say(f"{name}: {options.run_id} is the champion. Gain {on_rows}.")


COMMAND = Command("promote", PromoteOptions, promote, rank=19)
