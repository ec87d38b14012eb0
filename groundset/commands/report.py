"""`groundset report`: what a run is worth, as a page."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_file
from groundset.printing import say


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page, .html; - is standard output.",
            show_default="RUN/report.html",
            callback=new_file,
        ),
    ] = None,
    track: Annotated[
        bool, typer.Option("--track/--no-track", help="Keep the page with the run in MLflow, if it is tracked.")
    ] = True,
    track_texts: Annotated[
        bool, typer.Option("--track-texts", help="Send the page to a tracking server too, with texts of documents.")
    ] = False,
) -> None:
    """Show on one page what a run is worth.

    What was asked for and made, what each step left and refused, how good the questions are expected to be and how many
    were signed, what of the documents they cover, how different and how hard they are, what they cost, and how large a
    difference between two retrievers they can show. The page is one file that loads nothing.
    """
    from groundset.commands.outputs import name_of, tell
    from groundset.progress import Progress
    from groundset.report.report import NAME, write_report

    place = out or run / NAME
    with Progress().waiting("Writing the report"):
        page = write_report(run, out)
    tell(f"Report: {name_of(place)}.", place)
    if track:
        _keep(run, page, place, track_texts)


def _keep(run: Path, page: str, out: Path, texts: bool) -> None:
    """Keep a page where its run is tracked, and print that; a page that cannot be kept is no error."""
    from groundset.commands.outputs import tell
    from groundset.report.report import NAME
    from groundset.tracking.place import where
    from groundset.tracking.runs import log_report
    from programs.errors import InputError, TrackingError

    try:
        kept = log_report(run, page, NAME, texts=texts)
    except (InputError, TrackingError) as error:
        say(f"Not kept with the tracked run: {error} (--no-track leaves it out)", err=True)
        return
    if kept and kept.kept_from:
        say(
            f"Not sent to {kept.kept_from}, where the run is tracked: it holds texts (--track-texts sends it).",
            err=True,
        )
    elif kept:
        tell(f"Kept with {kept.run_id}{where(kept.uri, usual=kept.usual)}.", out)
