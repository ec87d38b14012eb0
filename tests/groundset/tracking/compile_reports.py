"""Reports of compiles that nobody made, and how they are logged."""

import pytest

from groundset.tracking.compiles import CompileRuns, CompileStore
from optimizers.measures import mean, mean_gain
from optimizers.report import CompileReport
from programs.critics.states import CompiledState, dspy_version, signature_hash
from programs.steps import STEPS

SPLITS = {"dev": 12, "test": 12}


def report(before: float, dev: float, test: float, *, step: str = "answer", critic: bool = False) -> CompileReport:
    """A compile whose rows all score the same, but for a spread that makes no gain certain by itself."""
    rows = []
    for split, count in SPLITS.items():
        after = dev if split == "dev" else test
        for n in range(count):
            row = {
                "split": split,
                "id": f"{split}{n}",
                "before_score": before,
                "after_score": after + 0.02 * (n % 3 - 1),
            }
            if critic:
                row |= {"fit": n % 2 == 0, "before_probability": 0.1 + 0.05 * n, "after_probability": 0.9 - 0.05 * n}
            rows.append(row)
    values = {v: {s: [r[f"{v}_score"] for r in rows if r["split"] == s] for s in SPLITS} for v in ("before", "after")}
    predict = STEPS["answer"].predictor()
    state = CompiledState(
        step=step, model="qwen/tiny:1b", optimizer="labeled", signature=signature_hash(predict.signature),
        dspy=dspy_version(), predictor=predict.dump_state(), record={"seed": 0},
    )  # fmt: skip
    return CompileReport(
        state=state,
        measures={
            **{version: {split: mean(found) for split, found in each.items()} for version, each in values.items()},
            "gain": {split: mean_gain(values["before"][split], values["after"][split]) for split in SPLITS},
        },
        rows=rows,
        candidates=[{"number": 0, "dev": before, "demos": 3}, {"number": 1, "dev": dev, "demos": 6}],
        prompt="[system]\nAnswer.\n\n[user]\nQuestion: {{question}}",
        parameters={"seed": 0, "labels.x": "ab"},
        figures={"calls": 42, "seconds": 3.5},
    )


def log(store: CompileStore, made: CompileReport) -> str:
    """Start a run for a report, log it and return the run's id."""
    with CompileRuns(lambda: store, pytest.fail) as runs:
        runs.start(made.state.step, made.state.model, made.state.optimizer, {"seed": 0})
        tracked = runs.finish(made)
    assert tracked is not None
    return tracked.split()[0].rstrip(",")
