"""A page: sections of metrics, charts and tables as one HTML file that needs nothing else.

Whatever a page shows is escaped, and shown as it is spelt.
"""

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

UNKNOWN = "not known"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """One figure.

    Attributes:
        value: as it is shown.
        n: what it rests on, such as "12 questions"; empty for what is counted and not measured.
        interval: the bounds of its 95 % interval; empty where it has none.
        meaning: a sentence.
    """

    name: str
    value: str
    n: str = ""
    interval: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table; ``title`` stands above it, cells after the first are set as numbers unless ``texts`` is set."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: bool = False


@dataclass(frozen=True)
class Chart:
    """A drawing with what it shows in words, and its numbers as a table."""

    title: str
    description: str
    svg: Markup
    table: PageTable

    @property
    def element(self) -> Markup:
        """Return the drawing with its title and its description in it, for readers that cannot see it."""
        head, rest = self.svg.split(">", 1)
        inside = Markup("{}><title>{}</title><desc>{}</desc>{}")
        return inside.format(Markup(head), self.title, self.description, Markup(rest))


@dataclass(frozen=True)
class PageSection:
    """One section of a page: its anchor and its heading, and what it shows in the order of the fields."""

    key: str
    title: str
    about: str
    metrics: Sequence[Metric] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()


def render(title: str, about: str, sections: Sequence[PageSection], main: Sequence[Metric] = ()) -> str:
    """Return a page as HTML: its title, a line about it, its main metrics, and its sections."""
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
    """Return a share as a reader reads it."""
    return f"{100 * part:.0f} %"


def bounds(low: float, high: float) -> str:
    """Return the bounds of a share."""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def interval(part: int, whole: int) -> str:
    """Return the bounds of Wilson's 95 % interval of a share; 0 to 100 % for an empty whole."""
    found = wilson(min(part, whole), whole)
    return bounds(found.low, found.high) if found else bounds(0, 1)


def share_metric(name: str, part: int, whole: int, noun: str, meaning: str = "") -> Metric:
    """Return the share that ``part`` is of ``whole`` things, with its interval."""
    if not whole:
        return Metric(name, UNKNOWN, counted(0, noun), "", meaning)
    return Metric(name, f"{percent(part / whole)} ({part:,})", counted(whole, noun), interval(part, whole), meaning)


def mean_metric(name: str, values: Values, units: Units, meaning: str = "", *, as_share: bool = True) -> Metric:
    """Return the mean of values between 0 and 1, one for each question, with its interval by ``units``."""
    if not len(values):
        return Metric(name, UNKNOWN, "0 questions", "", meaning)
    value, low, high = bootstrap_mean(values, units)
    shown, limits = (percent(value), bounds(low, high)) if as_share else (f"{value:.2f}", f"{low:.2f} to {high:.2f}")
    return Metric(name, shown, counted(len(values), "question"), limits, meaning)


def median_metric(name: str, values: Sequence[float] | Values, noun: str, meaning: str = "", digits: int = 0) -> Metric:
    """Return the median of values, and the quartiles that half of them lie between."""
    if not len(values):
        return Metric(name, UNKNOWN, counted(0, noun), "", meaning)
    low, middle, high = np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75))
    shown = f"{middle:.{digits}f} (half of them {low:.{digits}f} to {high:.{digits}f})"
    return Metric(name, shown, counted(len(values), noun), "", meaning)


def _visible(value: Any) -> Any:
    """Spell out the invisible characters of a text; markup stays as it is."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value, lines=True)
