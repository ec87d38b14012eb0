"""The report of a run: one HTML page with its questions and figures, and a comparison with another run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundset import __version__
from groundset.files import check_target, is_stream, json_text, write_text
from groundset.options import Options, option
from groundset.pages.figures import EARLY, Figures, compare, figures_of
from groundset.pages.html import evidence_of, excerpt, marked, render
from groundset.printing import say, say_lines
from groundset.run.record import latest_reviews
from groundset.run.run import Run, open_run
from groundset.run.store import Review
from programs.errors import InputError
from programs.text import plain
from programs.types import Sample

NAME = "report.html"
_QUESTIONS, _DOCUMENTS, _BARS = 500, 100, 12  # shown at most


class ReportOptions(Options):
    """Write an HTML report on a run.

    Its sections are the questions with their answers and evidence, what was made and refused, retrieval, variety and
    cost. The page is one file that loads nothing. With --against, it compares two runs and says what their samples
    could have shown.
    """

    run: Path = option(..., "Folder of the run.", metavar="RUN", argument=True)
    against: Path | None = option(None, "Folder of a run to compare with.", metavar="RUN")
    out: Path | None = option(None, "The page, .html; - is standard output.", metavar="FILE", shown="RUN/report.html")
    as_json: bool = option(False, "Print the figures as JSON and write no page.", command_only=True)


def report(options: ReportOptions) -> Path | None:
    """Write the report of a run and return the path of the page.

    Raises:
        InputError: a folder holds no run, or the page cannot be written.
        RunError: a run is damaged.
    """
    out = options.out
    if out is not None:
        check_target(out)
        if not is_stream(out) and out.suffix.lower() != ".html":
            raise InputError(f"--out {out}: must end with .html")
    run, against = open_run(options.run), open_run(options.against) if options.against else None
    if options.as_json:
        say_lines(json_text(report_record(run, against), indent=2))
        return None
    page = out or run.folder / NAME
    write_text(page, report_page(run, against), follow=out is not None)  # a link in the place of our own is replaced
    if not is_stream(page):
        say(f"report: {page}")
    return page


def report_page(run: Run, against: Run | None = None) -> str:
    """Return the report of a run as HTML."""
    figures, reviews = report_record(run, against), latest_reviews(run.reviews)
    return render(
        "report.html",
        figures=figures,
        comparison=figures.get("comparison"),
        questions=[_question(each, reviews[each.id]) for each in run.samples[:_QUESTIONS]],
        most_questions=max((row["samples"] + row["refused"] for row in figures["made"]["by_document"]), default=0) or 1,
        shown_documents=_DOCUMENTS,
        shown_bars=_BARS,
        early=EARLY,
        version=__version__,
    )


def report_record(run: Run, against: Run | None = None) -> dict[str, Any]:
    """Return the figures of a run as JSON types; see :mod:`groundset.pages.figures`.

    Raises:
        InputError: both runs are the same.
    """
    figures: Figures = figures_of(run)
    return figures if against is None else {**figures, "comparison": compare(run, against)}


def _question(sample: Sample, reviews: Mapping[str, Review]) -> dict[str, Any]:
    evidence = evidence_of(sample)
    texts = [" ".join(plain(chunk.text).split()) for chunk in sample.contexts]
    shortened = [excerpt(marked(text, evidence, sample.answer)) for text in texts]
    passages = list(zip(sample.contexts, shortened, strict=True))
    return {"sample": sample, "passages": passages, "reviews": list(reviews.values())}
