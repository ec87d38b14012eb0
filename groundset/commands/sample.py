"""`groundset sample`: a part of a set."""

from typing import Annotated

import typer

from groundset.commands.outputs import NewRunOption, RunArgument
from groundset.printing import say


def sample(
    run: RunArgument,
    size: Annotated[int, typer.Option(min=1, help="How many samples to draw.", show_default=False)],
    out: NewRunOption,
    by: Annotated[
        str | None,
        typer.Option(metavar="evolution|kind|document|language", help="What to keep the shares of."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes what chance decides.")] = 0,
) -> None:
    """Draw some samples of a run.

    The new run holds these and all chunks, so that they are as hard to find as before. Documents take turns. With
    --by, each evolution (or kind, document, language) gives one sample first, the most frequent before others; the
    rest goes by their shares in the whole run. The same command draws the same samples.
    """
    from groundset.sets.transforms.draw import sample_run

    for line in sample_run(run, size, out, by=by, seed=seed):
        say(line)
