"""`groundset merge`: merge runs."""

from pathlib import Path

from groundset.commands.declare import Command, NewRun
from groundset.options import CommandOptions, option
from groundset.printing import say


class MergeOptions(CommandOptions):
    """Merge runs into a new run.

    Duplicate documents, chunks and questions are kept once: of duplicate questions the one signed by a reviewer, else
    the one with the best score. Ranks are measured again among all chunks. Reviews are kept.
    """

    runs: tuple[Path, ...] = option(..., "The folders of two or more runs.", metavar="RUN RUN...", argument=True)
    out: NewRun


def merge(options: MergeOptions) -> None:
    """Merge the runs and print the summary of the new one."""
    from groundset.sets.transforms.merge import merge_runs

    for line in merge_runs(options.runs, options.out):
        say(line)


COMMAND = Command("merge", MergeOptions, merge, rank=11)
