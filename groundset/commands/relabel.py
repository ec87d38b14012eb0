"""`groundset relabel`: a set that another critic has judged."""

from typing import Annotated

import typer

from groundset.commands.outputs import NewRunOption, RunArgument
from groundset.commands.tracking import TrackingOption
from groundset.printing import say


def relabel(
    run: RunArgument,
    out: NewRunOption,
    critic: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who decides: head (quick, no language model), lm, ensemble of both, or verdict (a language "
            "model that says why).",
            show_default=False,
        ),
    ],
    lm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The language model of the critics lm, ensemble and verdict.")
    ] = None,
    compiled: Annotated[
        str, typer.Option(metavar="WHICH", help="Compiled states: shipped, champion, none or a folder of your own.")
    ] = "shipped",
    tracking: TrackingOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what the critic refuses, with its verdict.")] = False,
) -> None:
    """Let another critic judge the questions of a run again.

    The score of each sample, and what the judge said in its trail, are then those of this critic. What it refuses
    becomes a reject. Where the run noted how well an answer is supported by its passage, the score is no higher than
    that.
    """
    from groundset.sets.transforms.relabel import relabel_run

    for line in relabel_run(run, out, critic=critic, lm=lm, compiled=compiled, tracking=tracking, keep=keep):
        say(line)
