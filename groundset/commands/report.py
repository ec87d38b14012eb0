"""`groundset report`: quality figures of a run as a page."""

from pathlib import Path

from groundset.commands.declare import Command, NewFile, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class ReportOptions(CommandOptions):
    """Write an HTML report on a run.

    Sections: samples made, quality estimate and reviews, yield of each step, rejects, document coverage, kinds of
    questions, diversity, retrieval difficulty, statistical power for comparing retrievers, and cost. The page is one
    self-contained file.
    """

    run: RunFolder
    out: NewFile | None = option(
        None, "The page, .html; - is standard output.", metavar="FILE", show_default="RUN/report.html"
    )
    track: bool = option(True, "Log the page to the MLflow run, if the run is tracked.")
    track_texts: bool = option(False, "Log the page to a tracking server too; it contains texts of documents.")


def report(options: ReportOptions) -> None:
    """Write the page and log it to the tracked run."""
    from groundset.commands.output.targets import name_of, note
    from groundset.progress import Progress
    from groundset.report.report import NAME, write_report

    out = options.out or options.run / NAME
    with Progress().waiting("Writing the report"):
        page = write_report(options.run, options.out)
    note(f"Report: {name_of(out)}.", out)
    if options.track:
        _log(options.run, page, out, options.track_texts)


def _log(run: Path, page: str, out: Path, texts: bool) -> None:
    """Log a page to the tracked run and print where; a failure is only reported."""
    from groundset.commands.output.targets import note
    from groundset.report.report import NAME
    from groundset.tracking.location import location_suffix
    from groundset.tracking.runs import log_report
    from programs.errors import InputError, TrackingError

    try:
        tracked = log_report(run, page, NAME, texts=texts)
    except (InputError, TrackingError) as error:
        say(f"Report not logged to MLflow: {error} (--no-track turns logging off)", err=True)
        return
    if tracked and tracked.withheld_from:
        say(f"Report not sent to {tracked.withheld_from}: it contains texts (--track-texts sends it).", err=True)
    elif tracked:
        suffix = location_suffix(tracked.uri, is_default=tracked.is_default)
        note(f"Logged to MLflow as run {tracked.run_id}{suffix}.", out)


COMMAND = Command("report", ReportOptions, report, rank=8)
