"""What came of a compile: for the terminal, for MLflow, and for whoever promotes it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from optimizers.measures import Interval
from programs.critics.states import CompiledState, dspy_version, signature_hash
from programs.steps import STEPS

Row = Mapping[str, Any]
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
_BINS = 8


@dataclass(frozen=True)
class CompileReport:
    """One compile of one step.

    Attributes:
        state: what was found.
        measures: ``before``, ``after`` and ``gain``, each with figures by name (``dev``, ``test``, ...).
        rows: for each dev and test example ``split``, ``id``, ``document``, ``before_score`` and ``after_score`` from
            0 to 1, and the outputs; of a critic also ``fit``, ``before_probability`` and ``after_probability``.
        candidates: for each one tried its ``number``, its mean on dev and what it was.
        prompt: the prompt with the inputs as ``{{variables}}``, for a step that has one.
        parameters: what it was made with.
        figures: calls, tokens and seconds; ``compared`` counts the candidates that were evaluated on all dev rows,
            ``detectable_gain`` is the smallest gain that these rows can tell from noise.
        curves: what was measured along the way, by name: steps and values.
        files: what belongs to the state beside its JSON, such as trained weights.
        ending: ``complete``, ``budget`` or ``interrupted``.
    """

    state: CompiledState
    measures: Mapping[str, Mapping[str, Interval]]
    rows: Sequence[Row]
    candidates: Sequence[Row] = ()
    prompt: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    files: Sequence[Path] = ()
    ending: str = "complete"

    @property
    def step(self) -> str:
        """Return what was compiled."""
        return self.state.step

    @property
    def untested(self) -> bool:
        """Return whether no candidate was compared with the step as it was, so that nothing was found out."""
        return self.figures.get("compared") == 0

    @property
    def summary(self) -> str:
        """Return what was found, in one sentence."""
        return f"{self.step} for {self.state.model} by {self.state.optimizer}: {self._finding()}."

    @property
    def table(self) -> Table:
        """Return the figures before and after, with the gain."""
        versions = [version for version in ("before", "after", "gain") if version in self.measures]
        names = dict.fromkeys(name for version in versions for name in self.measures[version])
        rows = [
            (name.replace("_", " "), *(str(self.measures[version].get(name, "")) for version in versions))
            for name in names
        ]
        return ("measure", *versions), rows

    @property
    def one_line(self) -> str:
        """Return the gains in a few words."""
        if not self.state.record.get("chosen", 1):
            return f"{self.step}: as it was"
        gains = ", ".join(f"{name.replace('_', ' ')} {gain}" for name, gain in self.measures.get("gain", {}).items())
        return f"{self.step}: by {self.state.optimizer}, gain {gains or 'not measured'}"

    def _finding(self) -> str:
        state, figures = self.state, self.figures
        if state.target_precision is not None:
            return f"accepts from {state.threshold:.3f} on, promises {state.target_precision:.0%}"
        minutes = figures["seconds"] / 60
        if state.adapter is not None:
            return f"trained on {state.record['rows']['train']} gold rows in {minutes:.0f} minutes"
        chosen, tried = state.record["chosen"], len(self.candidates) - 1
        if self.untested:
            found = f"not tested (none of {tried} candidates was compared on all dev rows: raise --budget)"
        else:
            found = f"candidate {chosen} is the best" if chosen else "the step as it was is the best"
            found += f" ({figures['compared']:.0f} of {tried} candidates compared on all dev rows)"
            found += f"; a gain of {figures['detectable_gain']:.2f} could have been told from noise"
        return f"{found}; {figures['calls']:.0f} calls, {minutes:.1f} minutes of the model"


def new_state(step: str, **found: Any) -> CompiledState:
    """Return the compiled state of a step as it is now, under this version of DSPy."""
    return CompiledState(step=step, signature=signature_hash(STEPS[step].signature), dspy=dspy_version(), **found)


def versions_of(*libraries: str) -> dict[str, str]:
    """Return the installed versions of libraries."""
    return {name: metadata.version(name) for name in libraries}


def state_text(state: CompiledState) -> str:
    """Return a state as the JSON of its file; the same state gives the same text."""
    row = json.loads(state.model_dump_json(exclude_none=True))
    return json.dumps(row, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def draw_critic(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw precision against recall and the calibration on test rows, before and after, into a folder."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import PrecisionRecallDisplay

    test = [row for row in rows if row["split"] == "test"]
    good = [bool(row["fit"]) for row in test]
    files = []
    for name, display in (("precision-recall", PrecisionRecallDisplay), ("calibration", CalibrationDisplay)):
        figure = Figure(figsize=(5, 4))
        FigureCanvasAgg(figure)  # needs no display, and leaves no trace in pyplot's list
        axes = figure.add_subplot()
        for version in ("before", "after"):
            probability = [float(row[f"{version}_probability"]) for row in test]
            more: dict[str, Any] = {"n_bins": _BINS, "strategy": "quantile"} if name == "calibration" else {}
            display.from_predictions(good, probability, ax=axes, name=version, **more)
        axes.set_title(f"{name.replace('-', ' and ')}, {len(test)} test rows")
        figure.tight_layout()
        files.append(folder / f"{name}.png")
        figure.savefig(files[-1], dpi=120)
    return files


def confusion(rows: Sequence[Row], threshold: float) -> dict[str, dict[str, int]]:
    """Return how many good and bad test rows pass the threshold and how many do not."""
    counts = {label: {"accepted": 0, "refused": 0} for label in ("good", "bad")}
    for row in rows:
        if row["split"] == "test":
            verdict = "accepted" if row["after_probability"] >= threshold else "refused"
            counts["good" if row["fit"] else "bad"][verdict] += 1
    return counts
