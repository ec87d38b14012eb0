"""Compiled states from somebody else whose numbers, demos or sizes are not what a compile writes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.target import Outcome, Target

_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "compiled"
_CAP_MIB = 2_500
_BAD = {"passage": "The ferry to Brannock leaves at seven.", "question": "what is it in the passage above , and why"}


def _judge(target: Target, folder: Path, step: str, change: Callable[[dict[str, Any]], None]) -> Outcome:
    """Judge a row with a shipped head that was changed; a text ``<name>`` in it becomes a number that JSON lacks."""
    state = json.loads((_SHIPPED / "head" / f"{step}.json").read_text(encoding="utf-8"))
    change(state)
    file = folder / "compiled" / "head" / f"{step}.json"
    file.parent.mkdir(parents=True)
    told = json.dumps(state)
    for number in ("NaN", "1e400", "Infinity"):
        told = told.replace(f'"<{number}>"', number)
    file.write_text(told, encoding="utf-8")
    row = _BAD if step == "judge" else {"text": _BAD["passage"]}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    kind = "questions" if step == "judge" else "chunks"
    rows, out = folder / "rows.jsonl", folder / "out.jsonl"
    return target.run("judge", kind, rows, "--out", out, "--compiled", folder / "compiled", memory_mib=_CAP_MIB)


def _refused(outcome: Outcome, folder: Path, step: str) -> str:
    left = "wrote a result" if (folder / "out.jsonl").exists() else ""
    return outcome.fault(2, says=f"{step}.json") or left


def head_with_a_bias_that_is_no_number(target: Target, folder: Path) -> str:
    """Turn each bad question into a good one: NaN is neither below nor above any threshold."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["bias"] = "<NaN>"

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def head_with_an_endless_bias(target: Target, folder: Path) -> str:
    """Do the same with a number beyond what a computer holds."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["bias"] = "<1e400>"

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def head_whose_numbers_grow_endless(target: Target, folder: Path) -> str:
    """Give weights that are finite, but whose sum is not."""

    def change(state: dict[str, Any]) -> None:
        weights = state["heads"]["heads"]["fit"]["weights"]
        for place, name in enumerate(weights):
            weights[name] = [1e308 * (-1) ** place, -1e308, 1e-300]

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def head_without_deviation(target: Target, folder: Path) -> str:
    """Let a decision divide by zero."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["weights"]["names"][2] = 0

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def head_with_foreign_evidence(target: Target, folder: Path) -> str:
    """Weigh evidence that no text has."""

    def change(state: dict[str, Any]) -> None:
        state["heads"]["heads"]["fit"]["weights"]["moonlight"] = [1, 0, 1]

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def head_for_longer_vectors(target: Target, folder: Path) -> str:
    """Weigh vectors of another length than the embedder makes."""

    def change(state: dict[str, Any]) -> None:
        for head in state["heads"]["heads"].values():
            head["embedding"] = [0.5] * 7

    return _refused(_judge(target, folder, "chunk", change), folder, "chunk")


def threshold_that_is_no_number(target: Target, folder: Path) -> str:
    """Set the threshold that the predictor goes by to NaN."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["fields"]["fit"]["threshold"] = "<NaN>"

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def promise_that_is_no_number(target: Target, folder: Path) -> str:
    """QualityEstimate a precision of NaN, from minus infinity up, on less than no rows."""

    def change(state: dict[str, Any]) -> None:
        kind = next(iter(state["kinds"].values()))
        kind |= {"precision": "<NaN>", "low": -1.0, "high": "<Infinity>", "accepted": -3}

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def demos_that_are_no_demos(target: Target, folder: Path) -> str:
    """Show numbers and lists where a step is shown texts."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["demos"] = [7, ["passage"], {"passage": {"deep": "<NaN>"}}]

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


def signature_that_is_a_list(target: Target, folder: Path) -> str:
    """Give instructions as a number and fields as nothing."""

    def change(state: dict[str, Any]) -> None:
        state["predictor"]["signature"] = {"instructions": 5, "fields": [None]}

    return _refused(_judge(target, folder, "judge", change), folder, "judge")


ATTACKS = (
    head_with_a_bias_that_is_no_number,
    head_with_an_endless_bias,
    head_whose_numbers_grow_endless,
    head_without_deviation,
    head_with_foreign_evidence,
    head_for_longer_vectors,
    threshold_that_is_no_number,
    promise_that_is_no_number,
    demos_that_are_no_demos,
    signature_that_is_a_list,
)
