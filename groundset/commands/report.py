"""`groundset report`: what a run is worth, as a page."""

from pathlib import Path

from groundset.commands.declare import Command, NewFile, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class ReportOptions(CommandOptions):
    """Show on one page what a run is worth.

    What was asked for and made, what each step left and refused, how good the questions are expected to be and how many
    were signed, what of the documents they cover, how different and how hard they are, what they cost, and how large a
    difference between two retrievers they can show. The page is one file that loads nothing.
    """

    run: RunFolder
    out: NewFile | None = option(
        None, "The page, .html; - is standard output.", metavar="FILE", show_default="RUN/report.html"
    )
    track: bool = option(True, "Keep the page with the run in MLflow, if it is tracked.")
    track_texts: bool = option(False, "Send the page to a tracking server too, with texts of documents.")


def report(options: ReportOptions) -> None:
    """Write the page, and keep it where the run is tracked."""
    from groundset.commands.output.targets import name_of, note
    from groundset.progress import Progress
    from groundset.report.report import NAME, write_report

    place = options.out or options.run / NAME
    with Progress().waiting("Writing the report"):
        page = write_report(options.run, options.out)
    note(f"Report: {name_of(place)}.", place)
    if options.track:
        _keep(options.run, page, place, options.track_texts)


def _keep(run: Path, page: str, out: Path, texts: bool) -> None:
    """Keep a page where its run is tracked, and print that; a page that cannot be kept is no error."""
    from groundset.commands.output.targets import note
    from groundset.report.report import NAME
    from groundset.tracking.location import where
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
        note(f"Kept with {kept.run_id}{where(kept.uri, usual=kept.usual)}.", out)


COMMAND = Command("report", ReportOptions, report, rank=8)
