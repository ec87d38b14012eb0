"""`groundset drop`: remove samples by a condition."""

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError


class DropOptions(CommandOptions):
    """Drop samples of a run by a condition.

    A condition is written as in Python: `kind == "time"`, `rank > 1 and probability < 0.5`, `language != "en"`,
    `review == "bad"`, `"ferry" in question.lower()`, `evolution in ("simple", "reasoning")`, `not split`. What is
    missing is an empty text; what a search did not find is beyond any rank. What was dropped is kept with the rejects.
    """

    run: RunFolder
    where: str = option(
        ...,
        "Which samples go. Columns: id, question, answer, length (words of the question), evolution, kind, "
        "language, document (path), passages (how many), probability, rank, split, review (good, bad, disputed).",
        metavar="CONDITION",
    )
    out: NewRun | None = option(None, "The folder of the new run.", metavar="RUN")
    list_only: bool = option(False, "Only print what would go.", names=("--list",), only="command")


def drop(options: DropOptions) -> None:
    """Drop the samples and print the summary of the new run, or list what would go."""
    from groundset.sets.transforms.drop import drop_run, list_drops

    if options.list_only == (options.out is not None):
        raise InputError("give either --out RUN, or --list to see what would go")
    if options.out is not None:
        for line in drop_run(options.run, options.where, options.out):
            say(line)
        return
    going, total = list_drops(options.run, options.where)
    for sample in going:
        say(f"{sample.id}  {sample.question}")
    say(f"{len(going)} of {total} samples would go.")


COMMAND = Command("drop", DropOptions, drop, rank=14)
