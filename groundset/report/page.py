"""Self-contained HTML pages of metrics, charts and tables. All text is escaped, invisible characters are spelt out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from groundset import __version__
from groundset.printing import printable
from groundset.progress import counted
from groundset.stats import Units, Values, bootstrap_mean, wilson

UNKNOWN = "unknown"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """One figure.

    Attributes:
        value: formatted value.
        n: sample size, such as "12 questions"; empty for plain counts.
        interval: formatted 95 % interval; empty if there is none.
        meaning: explanation.
    """

    name: str
    value: str
    n: str = ""
    interval: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table; cells after the first are set as numbers unless ``texts``."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: bool = False


@dataclass(frozen=True)
class Chart:
    """A drawing with its description and its numbers as a table."""

    title: str
    description: str
    svg: Markup
    table: PageTable

    @property
    def element(self) -> Markup:
        """Return the drawing with title and description inside, for screen readers."""
        head, rest = self.svg.split(">", 1)
        inside = Markup("{}><title>{}</title><desc>{}</desc>{}")
        return inside.format(Markup(head), self.title, self.description, Markup(rest))


@dataclass(frozen=True)
class PageSection:
    """One section of a page; ``key`` is its anchor."""

    key: str
    title: str
    about: str
    metrics: Sequence[Metric] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()


def render(title: str, about: str, sections: Sequence[PageSection], main: Sequence[Metric] = ()) -> str:
    """Render a page as HTML; ``main`` are the metrics at its top."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"), autoescape=True, finalize=_visible,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html").render(
        title=title,
        about=about,
        sections=sections,
        main=main,
        style=Markup((_FOLDER / "page.css").read_text(encoding="utf-8")),
        footer=f"Made by groundset {__version__} on this machine. This page loads nothing and sends nothing.",
    )


def percent(part: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * part:.0f} %"


def bounds(low: float, high: float) -> str:
    """Format the bounds of a share."""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def interval(part: int, whole: int) -> str:
    """Format the Wilson 95 % interval of a share; 0 to 100 % if ``whole`` is 0."""
    found = wilson(min(part, whole), whole)
    return bounds(found.low, found.high) if found else bounds(0, 1)


def share_metric(name: str, part: int, whole: int, noun: str, meaning: str = "") -> Metric:
    """Return the share of ``part`` in ``whole`` with its interval."""
    if not whole:
        return Metric(name, UNKNOWN, counted(0, noun), "", meaning)
    return Metric(name, f"{percent(part / whole)} ({part:,})", counted(whole, noun), interval(part, whole), meaning)


def mean_metric(name: str, values: Values, units: Units, meaning: str = "", *, as_share: bool = True) -> Metric:
    """Return the mean of values between 0 and 1, one per question, with the interval that resamples ``units``."""
    if not len(values):
        return Metric(name, UNKNOWN, "0 questions", "", meaning)
    value, low, high = bootstrap_mean(values, units)
    shown, limits = (percent(value), bounds(low, high)) if as_share else (f"{value:.2f}", f"{low:.2f} to {high:.2f}")
    return Metric(name, shown, counted(len(values), "question"), limits, meaning)


def median_metric(name: str, values: Sequence[float] | Values, noun: str, meaning: str = "", digits: int = 0) -> Metric:
    """Return the median of values with the quartiles."""
    if not len(values):
        return Metric(name, UNKNOWN, counted(0, noun), "", meaning)
    low, middle, high = np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75))
    shown = f"{middle:.{digits}f} (half of them {low:.{digits}f} to {high:.{digits}f})"
    return Metric(name, shown, counted(len(values), noun), "", meaning)


def _visible(value: Any) -> Any:
    """Spell out invisible characters of text; markup stays unchanged."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value, lines=True)
