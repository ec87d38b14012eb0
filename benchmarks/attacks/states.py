"""Untrusted compiled states with invalid numbers, demos or sizes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.target import Outcome, Target

_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "compiled"
_CAP_MIB = 2_500
_BAD = {"passage": "The ferry to Brannock leaves at seven.", "question": "what is it in the passage above , and why"}


def _judge(target: Target, folder: Path, step: str, change: Callable[[dict[str, Any]], None]) -> Outcome:
    """Judge a row with a modified head; ``"<NaN>"`` in it becomes the bare number."""
    state = json.loads((_SHIPPED / "head" / f"{step}.json").read_text(encoding="utf-8"))
    change(state)
    file = folder / "compiled" / "head" / f"{step}.json"
    file.parent.mkdir(parents=True)
    text = json.dumps(state)
    for number in ("NaN", "1e400", "Infinity"):
        text = text.replace(f'"<{number}>"', number)
    file.write_text(text, encoding="utf-8")
    row = _BAD if step == "judge" else {"text": _BAD["passage"]}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    kind = "questions" if step == "judge" else "chunks"
    rows, out = folder / "rows.jsonl", folder / "out.jsonl"
    return target.run("judge", kind, rows, "--out", out, "--compiled", folder / "compiled", memory_mib=_CAP_MIB)


def _rejected(outcome: Outcome, folder: Path, step: str) -> str:
    result = "wrote a result" if (folder / "out.jsonl").exists() else ""
    return outcome.fault(2, message=f"{step}.json") or result


def head_with_nan_bias(target: Target, folder: Path) -> str:
    """Accept every question: NaN is not below any threshold."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["bias"] = "<NaN>"

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def head_with_infinite_bias(target: Target, folder: Path) -> str:
    """Accept every question with a number that overflows."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["bias"] = "<1e400>"

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def head_whose_sum_overflows(target: Target, folder: Path) -> str:
    """Use finite weights whose sum overflows."""

    def change(state: dict[str, Any]) -> None:
        weights = state["heads"]["heads"]["fit"]["weights"]
        for place, name in enumerate(weights):
            weights[name] = [1e308 * (-1) ** place, -1e308, 1e-300]

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def head_with_zero_deviation(target: Target, folder: Path) -> str:
    """Make a decision divide by zero."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["weights"]["names"][2] = 0

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def head_with_an_unknown_feature(target: Target, folder: Path) -> str:
    """Add the weight of an unknown feature."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["weights"]["moonlight"] = [1, 0, 1]

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def head_for_longer_vectors(target: Target, folder: Path) -> str:
    """Use weights for vectors of another length."""

    def change(state: dict[str, Any]) -> None:
        for head in state["heads"]["heads"].values():
            head["embedding"] = [0.5] * 7

    return _rejected(_judge(target, folder, "chunk", change), folder, "chunk")


def nan_threshold(target: Target, folder: Path) -> str:
    """Set the threshold of the predictor to NaN."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["fields"]["fit"]["threshold"] = "<NaN>"

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def invalid_quality_estimate(target: Target, folder: Path) -> str:
    """Claim a NaN precision with impossible bounds and a negative row count."""

    def change(state: dict[str, Any]) -> None:
        kind = next(iter(state["kinds"].values()))
        kind |= {"precision": "<NaN>", "low": -1.0, "high": "<Infinity>", "accepted": -3}

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def invalid_demos(target: Target, folder: Path) -> str:
    """Use numbers and lists as demos."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["demos"] = [7, ["passage"], {"passage": {"deep": "<NaN>"}}]

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


def invalid_signature(target: Target, folder: Path) -> str:
    """Use a number as instructions and None as a field."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["signature"] = {"instructions": 5, "fields": [None]}

    return _rejected(_judge(target, folder, "judge", change), folder, "judge")


ATTACKS = (
    head_with_nan_bias,
    head_with_infinite_bias,
    head_whose_sum_overflows,
    head_with_zero_deviation,
    head_with_an_unknown_feature,
    head_for_longer_vectors,
    nan_threshold,
    invalid_quality_estimate,
    invalid_demos,
    invalid_signature,
)
