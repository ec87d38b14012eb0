"""`groundset compare`: runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_file


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, two or more.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it as a page too, .html.", show_default=False, callback=new_file),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Compare runs with the first of them.

    Prints their figures side by side, which differences are real, and how large one has to be to be seen. The runs may
    be over the same documents or not; the notes say which.
    """
    from groundset.commands.outputs import name_of, tell
    from groundset.commands.tables import print_json, print_line, print_table
    from groundset.files import is_standard_output, write_text
    from groundset.printing import say
    from groundset.report.comparison import DIFFERENCES, compare_runs
    from groundset.report.report import check_page
    from programs.errors import InputError

    if out is not None:
        if as_json and is_standard_output(out):
            raise InputError("--out -: --json goes to standard output; name a file")
        check_page(out)
    comparison = compare_runs(runs)
    if out is not None:
        write_text(out, comparison.page())
        if is_standard_output(out):
            return
    if as_json:
        print_json(comparison.to_dict())
        return
    print_table(("", *comparison.names), comparison.figures())
    say()
    if comparison.differences:
        print_table(DIFFERENCES, comparison.difference_rows())
        say()
    for line in (*comparison.conclusions(), *comparison.notes):
        print_line(line)
    if out is not None:
        tell(f"Page: {name_of(out)}.", out)
