"""`groundset merge`: several runs as one."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_run
from groundset.printing import say


def merge(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="The folders of two runs or more.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(metavar="RUN", help="The folder of the new run.", show_default=False, callback=new_run)
    ],
) -> None:
    """Make one run of several.

    The same document, and the same chunk, is kept once. Of questions that ask the same, the one that a reader signed is
    kept, else the one with the better score. Every question is searched again among all chunks. Reviews come along.
    """
    from groundset.sets.transforms.merge import merge_runs

    for line in merge_runs(runs, out):
        say(line)
