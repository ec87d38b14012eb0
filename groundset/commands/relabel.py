"""`groundset relabel`: judge the questions of a run with another critic."""

from groundset.commands.declare import Command, Compiled, Critic, NewRun, RunFolder, Tracking
from groundset.options import CommandOptions, option
from groundset.printing import say


class RelabelOptions(CommandOptions):
    """Let another critic judge the questions of a run again.

    The score of each sample, and what the judge said in its trail, are then those of this critic. What it refuses
    becomes a reject. Where the run noted how well an answer is supported by its passage, the score is no higher than
    that.
    """

    run: RunFolder
    out: NewRun
    critic: Critic
    lm: str | None = option(None, "The language model of the critics lm, ensemble and verdict.", metavar="MODEL")
    compiled: Compiled
    tracking: Tracking
    keep: bool = option(False, "Keep what the critic refuses, with its verdict.")
    quiet: bool = option(False, "Show no progress.", only="python")


def relabel(options: RelabelOptions) -> None:
    """Judge the questions and print the summary of the new run."""
    from groundset.sets.transforms.relabel import relabel_run

    for line in relabel_run(**dict(options)):
        say(line)


COMMAND = Command("relabel", RelabelOptions, relabel, rank=15)
