"""`groundset sample`: draw a subset of samples."""

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class SampleOptions(CommandOptions):
    """Draw a subset of the samples of a run.

    The new run keeps all chunks, so ranks do not change. Samples are drawn evenly over documents. With --by, every
    evolution (or kind, document, language, value of a dimension of profiles) gets at least one sample if possible, and
    otherwise its share of the whole run. The draw is reproducible.
    """

    run: RunFolder
    size: int = option(..., "How many samples to draw.", ge=1)
    out: NewRun
    by: str | None = option(
        None, "Stratify by this property.", metavar="evolution|kind|document|language|profile.DIMENSION"
    )
    seed: int = option(0, "Random seed.")


def sample(options: SampleOptions) -> None:
    """Draw the samples and print the summary of the new run."""
    from groundset.sets.transforms.draw import sample_run

    for line in sample_run(options.run, options.size, options.out, by=options.by, seed=options.seed):
        say(line)


COMMAND = Command("sample", SampleOptions, sample, rank=12)
