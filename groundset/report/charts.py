"""Inline SVG charts in the font and colours of the page, light or dark."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from groundset.printing import printable
from groundset.report.measurements import cut
from groundset.report.page import Chart, PageTable, interval, percent

Numbers = Sequence[float] | NDArray[Any]

# Placeholders for the CSS variables of the page. The three hues are of the colour-blind-safe Okabe-Ito palette.
_INK, _FIRST, _SECOND, _THIRD, _PALE = "#010203", "#0072b2", "#d55e00", "#009e73", "#8c8c8c"
_COLOURS = {
    _INK: "currentColor", _FIRST: "var(--first)", _SECOND: "var(--second)", _THIRD: "var(--third)",
    _PALE: "var(--pale)",
}  # fmt: skip
_WIDTH = 4.5  # inches; readable on a phone
_BAR = 0.27  # inches; height of a bar
_LONGEST, _LONGEST_FREE = 26, 36  # characters of a label beside bars, beside intervals
_MANY_POINTS = 5000  # above this, points are rasterised to keep the page fast
_STYLES = ("-", "--", "-.", ":")
_LOOKS: tuple[dict[str, Any], ...] = (
    {"s": 9, "c": _PALE, "marker": "o", "alpha": 0.55, "linewidths": 0},
    {"s": 24, "c": _FIRST, "marker": "x", "linewidths": 1.1},
    {"s": 26, "c": _SECOND, "marker": "^", "edgecolors": _INK, "linewidths": 0.4},
)
SHARES = np.linspace(0, 1, 21)  # edges of a histogram


def counts_chart(
    key: str, title: str, description: str, name: str, counts: Sequence[tuple[str, int]], others: int = 0
) -> Chart:
    """Draw the number of questions of each ``name``; the table also has a row for ``others``."""
    total = sum(count for _, count in counts) + others
    labels, values = [label for label, _ in counts], [count for _, count in counts]
    texts = [f"{count:,} ({percent(count / total)})" for count in values]
    rows = [
        (label, f"{count:,}", percent(count / total), interval(count, total))
        for label, count in [*counts, *([("others", others)] if others else [])]
    ]
    table = PageTable("", (name, "questions", "share", "95 % interval"), rows)
    return Chart(title, description, bars(key, labels, values, texts), table)


def bars(key: str, labels: Sequence[str], values: Numbers, texts: Sequence[str], marked: int = -1) -> Markup:
    """Draw horizontal bars from the top, annotated with ``texts``; the bar at index ``marked`` is hatched."""
    with _drawing(0.5 + _BAR * len(labels)) as (figure, axes):
        drawn = axes.barh(_rows(axes, labels, _LONGEST), values, color=_FIRST, height=0.7)
        if 0 <= marked < len(labels):
            drawn[marked].set(facecolor=_SECOND, hatch="///", edgecolor=_INK, linewidth=0)
        axes.bar_label(drawn, texts, padding=3, color=_INK)
        axes.set_xlim(0, max([*values, 1e-9]) * 1.3)
        axes.xaxis.set_visible(False)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return _svg(figure, key)


def histogram_chart(
    key: str,
    title: str,
    description: str,
    values: Numbers,
    across: str,
    headings: tuple[str, str],
    edges: NDArray[Any] = SHARES,
    limit: tuple[float, str] | None = None,
    label: Callable[[float, float], str] = "{:.2f} to {:.2f}".format,
) -> Chart:
    """Draw a histogram with its table, without empty bins; ``limit`` is the position and name of a vertical line."""
    values = np.clip(values, edges[0], edges[-1])
    counts, _ = np.histogram(values, bins=edges)
    rows = [
        (label(low, high), f"{count:,}") for low, high, count in zip(edges, edges[1:], counts, strict=False) if count
    ]
    with _drawing(2.6) as (figure, axes):
        axes.hist(values, bins=edges, color=_FIRST, edgecolor=_INK, linewidth=0.4)
        if limit is not None:
            axes.axvline(limit[0], color=_SECOND, linestyle="--")
            _name_line(axes, *limit, up=2)
        axes.set_xlabel(across)
        axes.yaxis.get_major_locator().set_params(integer=True)
        svg = _svg(figure, key)
    return Chart(title, description, svg, PageTable("", headings, rows))


def points(key: str, layers: Sequence[tuple[str, NDArray[Any]]]) -> Markup:
    """Draw a scatter plot of layers: the first in grey, the others each with a marker and colour."""
    many = sum(len(xy) for _, xy in layers) > _MANY_POINTS
    with _drawing(3.6) as (figure, axes):
        for (name, xy), look in zip(layers, _LOOKS, strict=False):
            if not len(xy):
                continue
            smaller = {"s": 2.5, "linewidths": 0.4 if look["marker"] == "x" else 0} if many else {}
            axes.scatter(xy[:, 0], xy[:, 1], label=f"{name} ({len(xy):,})", rasterized=many, **{**look, **smaller})
        axes.set(xticks=[], yticks=[], xlabel="first principal component", ylabel="second")
        axes.spines[["top", "right"]].set_visible(True)
        figure.legend(loc="outside upper left", ncols=1, frameon=False, labelcolor=_INK, markerscale=3 if many else 1.2)
        return _svg(figure, key)


def lines(
    key: str,
    drawn: Sequence[tuple[str, Numbers, Numbers]],
    across: str,
    up: str,
    marked: tuple[float, str] | None = None,
) -> Markup:
    """Draw named lines over a logarithmic axis; ``marked`` is the position and name of a vertical line."""
    drawn = [line for line in drawn if len(line[1])]
    with _drawing(3.0) as (figure, axes):
        for (name, xs, ys), style, colour in zip(drawn, _STYLES, (_FIRST, _SECOND, _THIRD, _INK), strict=False):
            axes.plot(xs, ys, linestyle=style, color=colour, linewidth=1.6)
            axes.annotate(
                name, (xs[0], ys[0]), xytext=(-4, 0), textcoords="offset points", ha="right", va="center", color=_INK
            )
        starts = [xs[0] for _, xs, _ in drawn] + ([marked[0]] if marked else [])
        axes.set_xscale("log")
        axes.set_xlim(left=min(starts, default=1) / 2)  # room for names
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}".replace("%", " %"))
        if marked:
            axes.axvline(marked[0], color=_PALE, linewidth=1)
            _name_line(axes, *marked, up=-8)
        axes.set(xlabel=across, ylabel=up, ylim=(0, 1.15 * max((max(ys) for *_, ys in drawn), default=1)))
        return _svg(figure, key)


def intervals(key: str, labels: Sequence[str], found: Sequence[tuple[float, float, float]], across: str) -> Markup:
    """Draw labelled values with their intervals, from the top, and a line at zero."""
    with _drawing(0.7 + _BAR * len(labels)) as (figure, axes):
        middle, low, high = (np.array(part, dtype=float) for part in zip(*found, strict=True))
        positions = _rows(axes, labels, _LONGEST_FREE)
        axes.errorbar(middle, positions, xerr=[middle - low, high - middle], fmt="o", color=_FIRST, capsize=3)
        axes.axvline(0, color=_PALE, linewidth=1)
        axes.set_xlabel(across)
        return _svg(figure, key)


@contextmanager
def _drawing(height: float) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, without top and right spines."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none", "svg.hashsalt": "groundset", "text.parse_math": False, "font.size": 9,
        "axes.unicode_minus": False, "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK,
        "xtick.color": _INK, "ytick.color": _INK, "hatch.color": _INK,
    }  # fmt: skip
    with mpl.rc_context(settings), warnings.catch_warnings():
        # The page sets the font, so glyphs missing in matplotlib's own font do not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.set_facecolor("none")
        axes.spines[["top", "right"]].set_visible(False)
        yield figure, axes


def _rows(axes: Any, labels: Sequence[str], longest: int) -> NDArray[Any]:
    """Put the labels on the y axis, from the top, and return their positions."""
    positions = np.arange(len(labels))
    axes.set_yticks(positions, [cut(printable(label), longest) for label in labels])
    axes.invert_yaxis()
    return positions


def _name_line(axes: Any, position: float, name: str, *, up: float) -> None:
    at = {"xycoords": ("data", "axes fraction"), "xytext": (3, up), "textcoords": "offset points"}
    axes.annotate(name, (position, 1), color=_INK, **at)


def _svg(figure: Any, key: str) -> Markup:
    """Return a figure as an SVG element; its ids are prefixed with ``key``, which is unique on the page."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, dpi=150, metadata={"Date": None})
    drawn = stream.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', drawn)
    element = f'<svg role="img" viewBox="{box[1] if box else ""}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    drawn = re.sub(r"<svg[^>]*>", element, drawn, count=1)
    drawn = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{key}-", drawn)
    for colour, name in _COLOURS.items():
        drawn = drawn.replace(colour, name)
    return Markup(drawn)  # matplotlib escaped all text
