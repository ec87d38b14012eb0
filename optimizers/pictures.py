"""Pictures of a critic on labelled rows, as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optimizers.report import Row

_BINS = 8


def draw_critic(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw precision against recall and the calibration of test rows, before and after, into a folder."""
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import PrecisionRecallDisplay

    test = [row for row in rows if row["split"] == "test"]
    good = [bool(row["fit"]) for row in test]
    files = []
    for name, display in (("precision-recall", PrecisionRecallDisplay), ("calibration", CalibrationDisplay)):
        figure, axes = _figure()
        for version in ("before", "after"):
            probability = [float(row[f"{version}_probability"]) for row in test]
            more: dict[str, Any] = {"n_bins": _BINS, "strategy": "quantile"} if name == "calibration" else {}
            display.from_predictions(good, probability, ax=axes, name=version, **more)
        axes.set_title(f"{name.replace('-', ' and ')}, {len(test)} test rows")
        figure.tight_layout()
        file = folder / f"{name}.png"
        figure.savefig(file, dpi=120)
        files.append(file)
    return files


def confusion(rows: Sequence[Row], threshold: float) -> dict[str, dict[str, int]]:
    """Return how many good and bad test rows pass the threshold and how many do not."""
    counts = {label: {"accepted": 0, "refused": 0} for label in ("good", "bad")}
    for row in rows:
        if row["split"] == "test":
            verdict = "accepted" if row["after_probability"] >= threshold else "refused"
            counts["good" if row["fit"] else "bad"][verdict] += 1
    return counts


def _figure() -> tuple[Any, Any]:
    """Return a figure that needs no display, and leaves no trace in pyplot's list."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4))
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()
