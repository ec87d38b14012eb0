"""`groundset drop`: remove samples that meet a condition."""

from groundset.commands.declare import Command, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError


class DropOptions(CommandOptions):
    """Remove samples that meet a condition.

    Conditions use Python syntax: `kind == "time"`, `rank > 1 and probability < 0.5`, `language != "en"`,
    `review == "bad"`, `"ferry" in question.lower()`, `evolution in ("simple", "reasoning")`, `not split`,
    `profile["Type"] == "opinion"`. Missing values are empty strings; the rank of a passage not found is infinite.
    Dropped samples become rejects.
    """

    run: RunFolder
    where: str = option(
        ...,
        "Condition on the samples to drop. Columns: id, question, answer, length (words of the question), evolution, "
        "kind, language, document (path), passages (number), probability, rank, split, review (good, bad, disputed), "
        "profile[DIMENSION].",
        metavar="CONDITION",
    )
    out: NewRun | None = option(None, "The folder of the new run.", metavar="RUN")
    list_only: bool = option(False, "Only list the matching samples.", names=("--list",), only="command")


def drop(options: DropOptions) -> None:
    """Drop the samples and print the summary of the new run, or list the matching samples."""
    from groundset.sets.transforms.drop import drop_run, list_drops

    if options.list_only == (options.out is not None):
        raise InputError("use either --out RUN or --list")
    if options.out is not None:
        for line in drop_run(options.run, options.where, options.out):
            say(line)
        return
    matches, total = list_drops(options.run, options.where)
    for sample in matches:
        say(f"{sample.id}  {sample.question}")
    say(f"{len(matches)} of {total} samples would be dropped.")


COMMAND = Command("drop", DropOptions, drop, rank=14)
