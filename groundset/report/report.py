"""The report of a run as an HTML file."""

from pathlib import Path

from groundset.files import check_target, is_stream, write_text
from groundset.report.analysis import RunAnalysis
from groundset.report.page import render
from groundset.report.sections import SECTIONS
from programs.errors import InputError

SUFFIX = ".html"
NAME = f"report{SUFFIX}"
_MAIN = ("Samples", "Expected good", "Signed", "Hit at 1", "Documents covered", "Minimum detectable difference")


def check_page(out: Path) -> None:
    """Check the target of a page before any work is done.

    Raises:
        InputError: it is a folder, or does not end with ``.html``.
    """
    check_target(out)
    if not is_stream(out) and out.suffix.lower() != SUFFIX:
        raise InputError(f"--out {out}: must end with {SUFFIX}")


def write_report(run: Path, out: Path | None = None) -> str:
    """Write the report of a run atomically and return the page.

    Without ``out`` it goes into the run folder, and a link in its place is replaced, not followed.

    Raises:
        InputError: the folder holds no run, or the file cannot be written.
        DamagedRunError: the run cannot be read.
    """
    if out is not None:
        check_page(out)
    page = report_page(RunAnalysis(run))
    write_text(out or run / NAME, page, follow=out is not None)
    return page


def report_page(run: RunAnalysis) -> str:
    """Return the report of a run as HTML."""
    sections = [section.make(run) for section in SECTIONS.values()]
    metrics = {metric.name: metric for section in sections for metric in section.metrics}
    main = [metrics[name] for name in _MAIN if name in metrics]
    return render(f"Report on {run.name}", sections[0].about, sections, main)
