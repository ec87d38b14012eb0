"""`groundset split`: assign samples to splits."""

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class SplitOptions(CommandOptions):
    """Assign samples to splits without leakage.

    Questions about the same document, and duplicate questions, stay in the same split. Within that constraint, splits
    approximate their shares of all samples, of each kind and of each evolution. Exports include the splits if their
    format supports them.
    """

    run: RunFolder
    splits: str = option(..., "Shares that add up to 1, such as train=0.8,test=0.2.", metavar="SPLIT=SHARE,...")
    out: NewRun
    seed: int = option(0, "Random seed.")


def split(options: SplitOptions) -> None:
    """Split the samples and print the summary of the new run."""
    from groundset.sets.transforms.splits import split_run

    for line in split_run(options.run, options.splits, options.out, seed=options.seed):
        say(line)


COMMAND = Command("split", SplitOptions, split, rank=13)
