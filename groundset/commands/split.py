"""`groundset split`: a set with splits that nothing leaks between."""

from typing import Annotated

import typer

from groundset.commands.outputs import NewRunOption, RunArgument
from groundset.printing import say


def split(
    run: RunArgument,
    splits: Annotated[
        str, typer.Option(metavar="SPLIT=SHARE,...", help="Shares that add up to 1, as train=0.8,test=0.2.")
    ],
    out: NewRunOption,
    seed: Annotated[int, typer.Option(help="Fixes what chance decides.")] = 0,
) -> None:
    """Put the samples of a run into splits without a leak.

    Questions about one document stay together, and so do questions that repeat each other. As far as that allows, each
    split has its share of all samples, of each kind and of each evolution. Exports put the splits where their format
    has a place for them.
    """
    from groundset.sets.transforms.splits import split_run

    for line in split_run(run, splits, out, seed=seed):
        say(line)
