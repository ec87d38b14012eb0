"""`groundset drop`: a set without what nobody wants in it."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import RunArgument, new_run
from groundset.printing import say
from programs.errors import InputError


def drop(
    run: RunArgument,
    where: Annotated[
        str,
        typer.Option(
            metavar="CONDITION",
            help="Which samples go. Columns: id, question, answer, length (words of the question), evolution, kind, "
            "language, document (path), passages (how many), probability, rank, split, review (good, bad, disputed).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The folder of the new run.", show_default=False, callback=new_run),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only print what would go.")] = False,
) -> None:
    """Drop samples of a run by a condition.

    A condition is written as in Python: `kind == "time"`, `rank > 1 and probability < 0.5`, `language != "en"`,
    `review == "bad"`, `"ferry" in question.lower()`, `evolution in ("simple", "reasoning")`, `not split`. What is
    missing is an empty text; what a search did not find is beyond any rank. What was dropped is kept with the rejects.
    """
    from groundset.sets.transforms.drop import drop_run, list_drops

    if list_ == (out is not None):
        raise InputError("give either --out RUN, or --list to see what would go")
    if out is not None:
        for line in drop_run(run, where, out):
            say(line)
        return
    going, all_ = list_drops(run, where)
    for sample in going:
        say(f"{sample.id}  {sample.question}")
    say(f"{len(going)} of {all_} samples would go.")
