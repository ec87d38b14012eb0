"""Reports of compiles, for the terminal and for MLflow."""

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
    """The result of compiling one step.

    Attributes:
        state: the compiled state.
        measures: ``before``, ``after`` and ``gain``, each with intervals by name (``dev``, ``test``, ...).
        rows: for each dev and test example ``split``, ``id``, ``document``, ``before_score`` and ``after_score`` from
            0 to 1, and the outputs; of a critic also ``fit``, ``before_probability`` and ``after_probability``.
        candidates: for each one its ``number``, mean on dev, number of demos and instructions.
        prompt: the prompt with the inputs as ``{{variables}}``, None for heads and weights.
        parameters: the options of the compile.
        figures: calls, tokens and seconds; ``compared`` counts the candidates that were evaluated on all dev rows,
            ``detectable_gain`` is the minimum detectable gain.
        curves: values measured during training, by name: steps and values.
        files: further files of the state, such as trained weights.
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
        """Return the name of the step."""
        return self.state.step

    @property
    def untested(self) -> bool:
        """Return whether no candidate was compared on all dev rows."""
        return self.figures.get("compared") == 0

    @property
    def summary(self) -> str:
        """Return the result in one line."""
        return f"{self.step} for {self.state.model} by {self.state.optimizer}: {self._result()}."

    @property
    def table(self) -> Table:
        """Return the measures before and after, with the gain."""
        versions = [version for version in ("before", "after", "gain") if version in self.measures]
        names = dict.fromkeys(name for version in versions for name in self.measures[version])
        rows = [
            (name.replace("_", " "), *(str(self.measures[version].get(name, "")) for version in versions))
            for name in names
        ]
        return ("measure", *versions), rows

    @property
    def one_line(self) -> str:
        """Return the gains, for the summary of several steps."""
        if not self.state.record.get("chosen", 1):
            return f"{self.step}: unchanged"
        gains = ", ".join(f"{name.replace('_', ' ')} {gain}" for name, gain in self.measures.get("gain", {}).items())
        return f"{self.step}: {self.state.optimizer}, gain {gains or 'not measured'}"

    def _result(self) -> str:
        state, figures = self.state, self.figures
        if state.target_precision is not None:
            return f"threshold {state.threshold:.3f}, precision >= {state.target_precision:.0%} (95% confidence)"
        minutes = figures["seconds"] / 60
        if state.adapter is not None:
            return f"trained on {state.record['rows']['train']} gold rows in {minutes:.0f} minutes"
        chosen, tried = state.record["chosen"], len(self.candidates) - 1
        if self.untested:
            result = f"not tested (0 of {tried} candidates compared on all dev rows; raise --budget)"
        else:
            result = f"candidate {chosen} is the best" if chosen else "the original step is the best"
            result += f" ({figures['compared']:.0f} of {tried} candidates compared on all dev rows)"
            result += f"; minimum detectable gain {figures['detectable_gain']:.2f}"
        return f"{result}; {figures['calls']:.0f} calls, {minutes:.1f} minutes of model time"


def new_state(step: str, **fields: Any) -> CompiledState:
    """Build a compiled state for the current signature of a step and version of DSPy."""
    return CompiledState(step=step, signature=signature_hash(STEPS[step].signature), dspy=dspy_version(), **fields)


def versions_of(*libraries: str) -> dict[str, str]:
    """Return the installed versions of libraries."""
    return {name: metadata.version(name) for name in libraries}


def state_text(state: CompiledState) -> str:
    """Serialise a state as deterministic JSON."""
    row = json.loads(state.model_dump_json(exclude_none=True))
    return json.dumps(row, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def draw_critic(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Plot precision-recall and calibration on test rows, before and after, and return the image files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import PrecisionRecallDisplay

    test = [row for row in rows if row["split"] == "test"]
    good = [bool(row["fit"]) for row in test]
    files = []
    for name, display in (("precision-recall", PrecisionRecallDisplay), ("calibration", CalibrationDisplay)):
        figure = Figure(figsize=(5, 4))
        FigureCanvasAgg(figure)  # works without a display, and does not register with pyplot
        axes = figure.add_subplot()
        for version in ("before", "after"):
            probability = [float(row[f"{version}_probability"]) for row in test]
            options: dict[str, Any] = {"n_bins": _BINS, "strategy": "quantile"} if name == "calibration" else {}
            display.from_predictions(good, probability, ax=axes, name=version, **options)
        axes.set_title(f"{name.replace('-', ' and ')}, {len(test)} test rows")
        figure.tight_layout()
        files.append(folder / f"{name}.png")
        figure.savefig(files[-1], dpi=120)
    return files


def confusion(rows: Sequence[Row], threshold: float) -> dict[str, dict[str, int]]:
    """Return how many good and bad test rows are accepted and refused at the threshold."""
    counts = {label: {"accepted": 0, "refused": 0} for label in ("good", "bad")}
    for row in rows:
        if row["split"] == "test":
            verdict = "accepted" if row["after_probability"] >= threshold else "refused"
            counts["good" if row["fit"] else "bad"][verdict] += 1
    return counts
