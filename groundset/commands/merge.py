"""`groundset merge`: merge several runs into one."""

from pathlib import Path

from groundset.commands.declare import Command, NewRun
from groundset.options import CommandOptions, option
from groundset.printing import say


class MergeOptions(CommandOptions):
    """Make one run of several.

    The same document, and the same chunk, is kept once. Of questions that ask the same, the one that a reader signed is
    kept, else the one with the better score. Every question is searched again among all chunks. Reviews come along.
    """

    runs: tuple[Path, ...] = option(..., "The folders of two runs or more.", metavar="RUN RUN...", argument=True)
    out: NewRun


def merge(options: MergeOptions) -> None:
    """Merge the runs and print the summary of the new one."""
    from groundset.sets.transforms.merge import merge_runs

    for line in merge_runs(options.runs, options.out):
        say(line)


COMMAND = Command("merge", MergeOptions, merge, rank=11)
