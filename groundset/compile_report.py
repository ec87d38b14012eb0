"""What a compile gave: what a user is told, and what MLflow keeps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dspy

from groundset.files import json_text
from groundset.optimizers.prompts import Candidate, state_of
from groundset.printing import counted
from groundset.tracking import Entry, Rows

_DEV = (
    "{rows_dev:.0f} dev rows: {before_dev:.2f} before, {after_dev:.2f} after, gain {gain_dev:+.2f}"
)
_TEST = _DEV.replace("dev", "test") + " ({gain_test_low:+.2f} to {gain_test_high:+.2f})"
_MEASURED = ", ".join(
    f"{name} {{{name}:.2f}} ({{{name}_low:.2f}} to {{{name}_high:.2f}})"
    for name in ("auc", "precision", "recall", "specificity")
)
# What is said of figures, by the one that tells whether they are there.
_LINES = {
    "after_dev": _DEV,
    "after_test": _TEST,
    "threshold": (
        "threshold {threshold:.2f}, precision of at least {supported_precision:.0%} on the rows"
        " that chose it"
    ),
    "auc": f"test rows: {_MEASURED}",
    "before_auc": f"before: {_MEASURED.replace('{', '{before_')}",
}


@dataclass
class Report:
    """What a compile gave."""

    step: str  # the step or recipe
    model: str  # the model that it is for, or of heads the embedder
    optimizer: str
    # ``before_dev``, ``gain_test_low``, …; calls, tokens, time
    figures: dict[str, float] = field(default_factory=dict)
    ending: str = "complete"  # or ``budget``, ``interrupted``
    files: list[Path] = field(default_factory=list)  # what was written; nothing if it is not better
    states: Mapping[str, str] = field(default_factory=dict)  # the hashes of what was written
    program: Any = None  # the compiled predictor or program
    lm: Any = None
    # The variants that were run, the original first.
    candidates: list[Candidate] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    rows: Mapping[str, Sequence[dspy.Example]] = field(default_factory=dict)  # by split
    better: bool | None = None  # whether dev rows chose it and test rows confirmed it, if they did
    weights: Path | None = None  # trained ones

    def __str__(self) -> str:
        """Return what a user wants to know."""
        return "\n  ".join(self._lines())

    def _lines(self) -> Iterator[str]:
        got = self.figures
        yield f"{self.step} for {self.model} by {self.optimizer}:"
        for figure, line in _LINES.items():
            if figure in got:
                yield line.format_map(got)
        if "detectable_gain" in got:
            least = got["detectable_gain"]
            yield (
                f"the test rows could have shown a gain of {least:.2f}"
                if least < 1
                else "the test rows are too few to show any gain"
            )
        if self.candidates:
            ran = counted(len(self.candidates) - 1, "candidate")
            yield (
                f"{ran} ran, {got['compared']:.0f} of them on all dev rows; {got['calls']:.0f}"
                " calls"
            )
            if len(self.candidates[0].state) > 1:
                yield f"changed: {', '.join(self.changed()) or 'nothing'}"
        if self.ending == "budget":
            yield "--budget-calls is used up: this is the best candidate so far"
        if self.ending == "interrupted":
            yield (
                "interrupted: this is the best candidate so far, which no test rows confirmed; the"
                " same command goes on"
            )
        elif self.files:
            yield f"written: {', '.join(map(str, self.files))}"
        else:
            no = "not better on dev rows than what is served, or worse on test rows"
            if "threshold" in got:
                no = "they rank (auc) or decide (recall and specificity) worse than those served"
            yield f"not written: {no}; --keep writes it"

    def changed(self) -> list[str]:
        """Return the predictors that are not as they were served."""
        states = state_of(self.program)
        served = self.candidates[0].state if self.candidates else {}
        return [name for name, state in states.items() if state != served.get(name)]

    def entry(self, parameters: Mapping[str, Any], folder: Path) -> Entry:
        """Return what MLflow keeps of the compile of a folder.

        Each candidate becomes an artifact, and the prompt of each step that was written a version
        of a registered prompt.
        """
        program = self.program if self.files else None  # fitted heads have none
        tags = {"step": self.step, "ending": self.ending}
        if self.better is not None:
            tags["better"] = "yes" if self.better else "no"
        files: dict[str, Path | str] = {file.name: file for file in self.files}
        for each in self.candidates:
            text = json_text(asdict(each), indent=1)
            files[f"candidates/{each.number:03}.json"] = text
        return Entry(
            f"groundset-{self.step}",
            f"{self.model} {self.optimizer}",
            f"{folder.absolute()} {self.step} {self.started.isoformat()}",
            started=self.started,
            ended=datetime.now(UTC),
            status="KILLED" if self.ending == "interrupted" else "FINISHED",
            parameters={**parameters, "model": self.model},
            metrics=[*((name, value, 0) for name, value in self.figures.items()), *self._curves()],
            tags=tags,
            rows=[
                Rows(f"{self.step}-{split}", split, [dict(row) for row in rows])
                for split, rows in self.rows.items()
            ],
            files=files,
            program=program,
            changed=self.changed() if program else (),
            states=self.states,
            lm=self.lm,
        )

    def _curves(self) -> Iterator[tuple[str, float, int]]:
        """Yield the mean of each candidate by its number: on dev rows if it ran on all of them, and
        apart from these on the train rows that it ran on.
        """
        train = {row.id for row in self.rows.get("train", ())}
        for candidate in self.candidates:
            on_dev = candidate.mean(list(self.rows.get("dev", ())))
            on_train = [score for row, score in candidate.scores.items() if row in train]
            if on_dev is not None:
                yield "candidate_dev", on_dev, candidate.number
            if on_train:
                yield "candidate_train", sum(on_train) / len(on_train), candidate.number
