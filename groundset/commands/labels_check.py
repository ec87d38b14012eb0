"""`groundset labels check`: validate files of labels and gold rows."""

from pathlib import Path

from groundset.commands.declare import Command
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError

_SHOWN = 50


class LabelsCheckOptions(CommandOptions):
    """Name everything that is wrong with files of labels and gold rows.

    Checks every row against the schema of its kind (a row that names a step is a gold row), ids that occur twice,
    and documents that lie in two splits. Prints one line for each problem, and ends with status 2 if there are any.
    """

    files: tuple[Path, ...] = option(..., "Files of labels or gold rows in JSONL.", metavar="FILE", argument=True)


def check_files(options: LabelsCheckOptions) -> None:
    """Print what is wrong."""
    from groundset.progress import counted
    from optimizers.gold import check, read_annotated

    problems = check(options.files)
    for problem in problems[:_SHOWN]:
        say(str(problem))
    if problems:
        found = f"{counted(len(problems), 'problem')} in {counted(len(options.files), 'file')}"
        raise InputError(f"{found}; fix the rows named above")
    say(f"{len(read_annotated(options.files))} rows in {len(options.files)} files: nothing wrong.")


COMMAND = Command("labels check", LabelsCheckOptions, check_files, rank=24)
