"""`groundset labels check`: validate files of labels and gold rows."""

from pathlib import Path

from groundset.commands.declare import Command
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError

_SHOWN = 50


class LabelsCheckOptions(CommandOptions):
    """Validate files of labels and gold rows.

    Checks the schema of every row (rows with a step are gold rows), repeated ids, and documents in two splits. Prints
    one line for each problem, and exits with status 2 if there are any.
    """

    files: tuple[Path, ...] = option(..., "Files of labels or gold rows in JSONL.", metavar="FILE", argument=True)


def check_files(options: LabelsCheckOptions) -> None:
    """Print the problems, or the number of rows."""
    from groundset.progress import counted
    from optimizers.gold import check, read_annotated

    problems = check(options.files)
    for problem in problems[:_SHOWN]:
        say(str(problem))
    if problems:
        found = f"{counted(len(problems), 'problem')} in {counted(len(options.files), 'file')}"
        raise InputError(f"{found}; fix the rows named above")
    say(f"{counted(len(read_annotated(options.files)), 'row')} in {counted(len(options.files), 'file')}: no problems.")


COMMAND = Command("labels check", LabelsCheckOptions, check_files, rank=24)
