"""`groundset sample`: draw samples into a smaller run."""

from typing import Literal

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class SampleOptions(CommandOptions):
    """Draw some samples of a run.

    The new run holds these and all chunks, so that they are as hard to find as before. Documents take turns. With
    --by, each evolution (or kind, document, language) gives one sample first, the most frequent before others; the
    rest goes by their shares in the whole run. The same command draws the same samples.
    """

    run: RunFolder
    size: int = option(..., "How many samples to draw.", ge=1)
    out: NewRun
    by: Literal["evolution", "kind", "document", "language"] | None = option(
        None, "What to keep the shares of.", metavar="evolution|kind|document|language"
    )
    seed: int = option(0, "Fixes what chance decides.")


def sample(options: SampleOptions) -> None:
    """Draw the samples and print the summary of the new run."""
    from groundset.sets.transforms.draw import sample_run

    for line in sample_run(options.run, options.size, options.out, by=options.by, seed=options.seed):
        say(line)


COMMAND = Command("sample", SampleOptions, sample, rank=12)
