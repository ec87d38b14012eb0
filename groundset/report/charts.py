"""Charts: drawings as SVG that stands in a page, and takes its colours, light or dark, and its font."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from groundset.printing import printable
from groundset.report.measurements import cut
from groundset.report.page import Chart, PageTable, interval, percent

Numbers = Sequence[float] | NDArray[Any]

# Stand for what the page decides. The three hues are Okabe's and Ito's, which colour-blind readers distinguish too.
_INK, _FIRST, _SECOND, _THIRD, _PALE = "#010203", "#0072b2", "#d55e00", "#009e73", "#8c8c8c"
_COLOURS = {
    _INK: "currentColor", _FIRST: "var(--first)", _SECOND: "var(--second)", _THIRD: "var(--third)",
    _PALE: "var(--pale)",
}  # fmt: skip
_WIDTH, _HEIGHT = 4.5, 2.6  # inches; letters stay readable at the width of a telephone
_BAR = 0.27  # inches of height that a bar takes
_LONGEST, _LONGEST_FREE = 26, 36  # letters of a label; beside lines that need little room
_MANY_POINTS = 5000  # from here on points are an image: as shapes they would make the page slow
_STYLES = ("-", "--", "-.", ":")


SHARES = np.linspace(0, 1, 21)  # edges of a histogram


class Curve(NamedTuple):
    """A line of a drawing; its name stands at its beginning."""

    name: str
    across: Numbers
    up: Numbers


def counts_chart(
    key: str, title: str, description: str, name: str, counts: Sequence[tuple[str, int]], others: int = 0
) -> Chart:
    """Draw how many questions there are of each kind of ``name``; the table has those of ``others`` too."""
    total = sum(count for _, count in counts) + others
    labels, values = [label for label, _ in counts], [count for _, count in counts]
    texts = [f"{count:,} ({percent(count / total)})" for count in values]
    rows = [
        (label, f"{count:,}", percent(count / total), interval(count, total))
        for label, count in [*counts, *([("others", others)] if others else [])]
    ]
    table = PageTable("", (name, "questions", "share", "95 % interval"), rows)
    return Chart(title, description, bars(key, labels, values, texts), table)


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
    """Draw how many values lie between edges; the table leaves out where there are none."""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)
    rows = [
        (label(low, high), f"{count:,}") for low, high, count in zip(edges, edges[1:], counts, strict=False) if count
    ]
    return Chart(title, description, histogram(key, values, edges, across, limit), PageTable("", headings, rows))


def bars(key: str, labels: Sequence[str], values: Numbers, texts: Sequence[str], marked: int = -1) -> Markup:
    """Draw a bar for each label, from the top, with one of ``texts`` behind it; the one at ``marked`` is hatched."""
    with _drawing(0.5 + _BAR * len(labels)) as (figure, axes):
        places = np.arange(len(labels))
        drawn = axes.barh(places, values, color=_FIRST, height=0.7)
        if 0 <= marked < len(labels):
            drawn[marked].set(facecolor=_SECOND, hatch="///", edgecolor=_INK, linewidth=0)
        axes.set_yticks(places, [cut(printable(label), _LONGEST) for label in labels])
        axes.invert_yaxis()
        axes.bar_label(drawn, texts, padding=3, color=_INK)
        axes.set_xlim(0, max([*values, 1e-9]) * 1.3)
        axes.xaxis.set_visible(False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return _svg(figure, key)


def histogram(key: str, values: Numbers, edges: Numbers, across: str, limit: tuple[float, str] | None = None) -> Markup:
    """Draw how many values lie between edges; ``limit`` is a place with what it is."""
    with _drawing(_HEIGHT) as (figure, axes):
        axes.hist(np.clip(values, edges[0], edges[-1]), bins=edges, color=_FIRST, edgecolor=_INK, linewidth=0.4)
        if limit is not None:
            place, name = limit
            axes.axvline(place, color=_SECOND, linestyle="--")
            axes.annotate(name, (place, 1), xycoords=("data", "axes fraction"), xytext=(3, 2),
                          textcoords="offset points", color=_INK)  # fmt: skip
        axes.set_xlabel(across)
        axes.yaxis.get_major_locator().set_params(integer=True)
        _open(axes)
        return _svg(figure, key)


def points(key: str, layers: Sequence[tuple[str, NDArray[Any]]]) -> Markup:
    """Draw layers of points, the first in grey, each further one with a sign and a colour of its own."""
    looks = (
        {"s": 9, "c": _PALE, "marker": "o", "alpha": 0.55, "linewidths": 0},
        {"s": 24, "c": _FIRST, "marker": "x", "linewidths": 1.1},
        {"s": 26, "c": _SECOND, "marker": "^", "edgecolors": _INK, "linewidths": 0.4},
    )
    many = sum(len(places) for _, places in layers) > _MANY_POINTS
    with _drawing(3.6) as (figure, axes):
        for (name, places), look in zip(layers, looks, strict=False):
            if not len(places):
                continue
            smaller = {"s": 2.5, "linewidths": 0.4 if look["marker"] == "x" else 0} if many else {}
            axes.scatter(
                places[:, 0], places[:, 1], label=f"{name} ({len(places):,})", rasterized=many, **{**look, **smaller}
            )
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("first principal component")
        axes.set_ylabel("second")
        figure.legend(loc="outside upper left", ncols=1, frameon=False, labelcolor=_INK, markerscale=3 if many else 1.2)
        return _svg(figure, key)


def lines(key: str, drawn: Sequence[Curve], across: str, up: str, marked: tuple[float, str] | None = None) -> Markup:
    """Draw lines over a logarithmic axis, each with a stroke of its own; ``marked`` is a place on it with a name."""
    with _drawing(3.0) as (figure, axes):
        for line, style, colour in zip(drawn, _STYLES, (_FIRST, _SECOND, _THIRD, _INK), strict=False):
            axes.plot(line.across, line.up, linestyle=style, color=colour, linewidth=1.6)
            if len(line.across):
                axes.annotate(
                    line.name, (line.across[0], line.up[0]), xytext=(-4, 0), textcoords="offset points", ha="right",
                    va="center", color=_INK,
                )  # fmt: skip
        starts = [line.across[0] for line in drawn if len(line.across)] + ([marked[0]] if marked else [])
        axes.set_xscale("log")
        axes.set_xlim(left=min(starts, default=1) / 2)  # room for names
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}".replace("%", " %"))
        if marked is not None:
            axes.axvline(marked[0], color=_PALE, linewidth=1)
            axes.annotate(marked[1], (marked[0], 1), xycoords=("data", "axes fraction"), xytext=(3, -8),
                          textcoords="offset points", color=_INK)  # fmt: skip
        axes.set(
            xlabel=across, ylabel=up, ylim=(0, 1.15 * max((max(line.up) for line in drawn if len(line.up)), default=1))
        )
        _open(axes)
        return _svg(figure, key)


def intervals(key: str, labels: Sequence[str], found: Sequence[tuple[float, float, float]], across: str) -> Markup:
    """Draw a value with the bounds of its interval for each label, from the top; a line of zeros stands for nothing."""
    with _drawing(0.7 + _BAR * len(labels)) as (figure, axes):
        places = np.arange(len(labels))
        middle, low, high = (np.array(part, dtype=float) for part in zip(*found, strict=True))
        axes.errorbar(middle, places, xerr=[middle - low, high - middle], fmt="o", color=_FIRST, capsize=3)
        axes.axvline(0, color=_PALE, linewidth=1)
        axes.set_yticks(places, [cut(printable(label), _LONGEST_FREE) for label in labels])
        axes.invert_yaxis()
        axes.set_xlabel(across)
        _open(axes)
        return _svg(figure, key)


@contextmanager
def _drawing(height: float) -> Iterator[tuple[Any, Any]]:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none", "svg.hashsalt": "groundset", "text.parse_math": False, "font.size": 9,
        "axes.unicode_minus": False, "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK,
        "xtick.color": _INK, "ytick.color": _INK, "hatch.color": _INK,
    }  # fmt: skip
    with mpl.rc_context(settings), warnings.catch_warnings():
        # The font is the page's in the end; what matplotlib's own one lacks does not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.set_facecolor("none")
        yield figure, axes


def _open(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _svg(figure: Any, key: str) -> Markup:
    """Return a figure as an element; its names begin with ``key``, which no other drawing of the page has."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, dpi=150, metadata={"Date": None})
    drawn = stream.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', drawn)
    drawn = re.sub(
        r"<svg[^>]*>",
        f'<svg role="img" viewBox="{box[1] if box else ""}" xmlns:xlink="http://www.w3.org/1999/xlink">',
        drawn,
        count=1,
    )
    drawn = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{key}-", drawn)
    for colour, name in _COLOURS.items():
        drawn = drawn.replace(colour, name)
    return Markup(drawn)  # matplotlib has escaped every text in it
