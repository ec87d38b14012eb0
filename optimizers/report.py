"""What is told of a compile: to the terminal, to MLflow, and to whoever promotes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optimizers.measures import Interval
from programs.critics.states import CompiledState

Row = Mapping[str, Any]


@dataclass(frozen=True)
class CompileReport:
    """One compile of one step.

    Attributes:
        state: what was found.
        measures: ``before``, ``after`` and ``gain``, each with figures by name (``dev``, ``test``, ...).
        rows: for each dev and test example ``split``, ``id``, ``document``, ``before_score`` and ``after_score`` from
            0 to 1, and whatever else was said of it; of a critic also ``fit`` and ``before_probability`` and
            ``after_probability``.
        candidates: for each one tried its ``number``, its mean on dev and what it was.
        prompt: the prompt with the inputs as ``{{variables}}``, for a step that has one.
        parameters: what it was made with.
        figures: calls, tokens and seconds; ``compared`` says how many candidates were evaluated on all dev rows,
            ``detectable_gain`` what gain these rows could see.
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
    def untested(self) -> bool:
        """Return whether no candidate was compared with the step as it was, so that nothing was found out."""
        return self.figures.get("compared") == 0
