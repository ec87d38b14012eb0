"""`groundset split`: put samples into splits without leaks."""

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class SplitOptions(CommandOptions):
    """Put the samples of a run into splits without a leak.

    Questions about one document stay together, and so do questions that repeat each other. As far as that allows, each
    split has its share of all samples, of each kind and of each evolution. Exports put the splits where their format
    has a place for them.
    """

    run: RunFolder
    splits: str = option(..., "Shares that add up to 1, as train=0.8,test=0.2.", metavar="SPLIT=SHARE,...")
    out: NewRun
    seed: int = option(0, "Fixes what chance decides.")


def split(options: SplitOptions) -> None:
    """Split the samples and print the summary of the new run."""
    from groundset.sets.transforms.splits import split_run

    for line in split_run(options.run, options.splits, options.out, seed=options.seed):
        say(line)


COMMAND = Command("split", SplitOptions, split, rank=13)
