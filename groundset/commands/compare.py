"""`groundset compare`: compare runs."""

from pathlib import Path

from groundset.commands.declare import Command, Json, NewFile
from groundset.options import CommandOptions, option


class CompareOptions(CommandOptions):
    """Compare runs with the first of them.

    Prints their figures side by side, the significant differences and the minimum detectable ones. The notes say which
    documents and questions the runs share.
    """

    runs: tuple[Path, ...] = option(..., "Folders of runs, two or more.", metavar="RUN...", argument=True)
    out: NewFile | None = option(None, "Also write an HTML page, .html.", metavar="FILE")
    as_json: Json


def compare(options: CompareOptions) -> None:
    """Print or write the comparison."""
    from groundset.commands.output.tables import print_json, print_line, print_table
    from groundset.commands.output.targets import name_of, note
    from groundset.files import is_standard_output, write_text
    from groundset.printing import say
    from groundset.report.comparison import DIFFERENCES, compare_runs
    from groundset.report.report import check_page
    from programs.errors import InputError

    if options.out is not None:
        if options.as_json and is_standard_output(options.out):
            raise InputError("--out -: --json already goes to standard output; give a file name")
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
