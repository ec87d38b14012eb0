"""`groundset compare`: runs side by side."""

from pathlib import Path

from groundset.commands.declare import Command, NewFile
from groundset.options import CommandOptions, option


class CompareOptions(CommandOptions):
    """Compare runs with the first of them.

    Prints their figures side by side, which differences are real, and how large one has to be to be seen. The runs may
    be over the same documents or not; the notes say which.
    """

    runs: tuple[Path, ...] = option(..., "Folders of runs, two or more.", metavar="RUN...", argument=True)
    out: NewFile | None = option(None, "Write it as a page too, .html.", metavar="FILE")
    as_json: bool = option(False, "Print it as JSON.", names=("--json",), only="command")


def compare(options: CompareOptions) -> None:
    """Compare the runs and print or write the comparison."""
    from groundset.commands.output.tables import print_json, print_line, print_table
    from groundset.commands.output.targets import name_of, note
    from groundset.files import is_standard_output, write_text
    from groundset.printing import say
    from groundset.report.comparison import DIFFERENCES, compare_runs
    from groundset.report.report import check_page
    from programs.errors import InputError

    if options.out is not None:
        if options.as_json and is_standard_output(options.out):
            raise InputError("--out -: --json goes to standard output; name a file")
        check_page(options.out)
    comparison = compare_runs(options.runs)
    if options.out is not None:
        write_text(options.out, comparison.page())
        if is_standard_output(options.out):
            return
    if options.as_json:
        print_json(comparison.to_dict())
        return
    print_table(("", *comparison.names), comparison.figures())
    say()
    if comparison.differences:
        print_table(DIFFERENCES, comparison.difference_rows())
        say()
    for line in (*comparison.conclusions(), *comparison.notes):
        print_line(line)
    if options.out is not None:
        note(f"Page: {name_of(options.out)}.", options.out)


COMMAND = Command("compare", CompareOptions, compare, rank=9)
