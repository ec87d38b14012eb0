"""`groundset relabel`: judge the questions of a run with another critic."""

from groundset.commands.declare import Command, Compiled, Critic, Engine, NewRun, RunFolder, Tracking
from groundset.options import CommandOptions, option
from groundset.printing import say


class RelabelOptions(CommandOptions):
    """Judge the questions of a run with another critic.

    Replaces the score of each sample and the judge's record in its trail. Refused samples become rejects. If the trail
    has a score for how well the passage supports the answer, the new score is at most that.
    """

    run: RunFolder
    out: NewRun
    critic: Critic
    lm: str | None = option(None, "The language model of the critics lm, ensemble and verdict.", metavar="MODEL")
    compiled: Compiled
    tracking: Tracking
    engine: Engine
    keep: bool = option(False, "Keep refused samples, with the verdict.")
    quiet: bool = option(False, "Show no progress.", only="python")


def relabel(options: RelabelOptions) -> None:
    """Judge the questions and print the summary of the new run."""
    from groundset.sets.transforms.relabel import relabel_run

    for line in relabel_run(**dict(options)):
        say(line)


COMMAND = Command("relabel", RelabelOptions, relabel, rank=15)
