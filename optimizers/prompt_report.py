"""Reports of searches for a prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from optimizers.ledger import Candidate, Ledger
from optimizers.measures import (
    Interval,
    area_under_roc,
    average_precision,
    bootstrap,
    detectable_gain,
    mean,
    mean_gain,
    paired_deviation,
    recorded,
)
from optimizers.report import CompileReport, new_state, versions_of
from optimizers.steps.base import Compiling
from programs.deciding import deciding_output
from programs.nearest import ALWAYS

_DEMO_KEYS = ("language", "explanation", "augmented", ALWAYS)


def prompt_report(
    compiling: Compiling,
    ledger: Ledger,
    best: Candidate,
    parts: Mapping[str, Sequence[dspy.Example]],
    *,
    start: dspy.Predict,
    adapter: Any,
    nearest: int,
    record: Mapping[str, Any],
    used: Mapping[str, float],
    **fields: Any,
) -> CompileReport:
    """Build the report of a search for a prompt, without parameters and ending.

    Args:
        compiling: the step.
        ledger: all candidates; the first is the original step.
        best: the chosen candidate.
        parts: the examples that the first and the best candidate were evaluated on, by split, including ``dev``.
        start: the predictor that the search started from.
        adapter: renders the prompt.
        nearest: how many of the state's demos each call selects, 0 for all.
        record, fields: the record of the state, and its other fields.
        used: calls, tokens and seconds of the model.
    """
    before, dev = ledger.candidates[0], parts["dev"]
    predictor = _complete_state(best.state, start)
    compared = [candidate for candidate in ledger.candidates[1:] if candidate.mean(dev) is not None]
    deviation = paired_deviation(_values(before, dev), [_values(candidate, dev) for candidate in compared])
    # Observed standard deviation, else the step's prior one.
    detectable = round(detectable_gain(deviation or compiling.deviation, len(dev)), 4)
    measures = {
        "before": _measures(before, parts, compiling.step.decides),
        "after": _measures(best, parts, compiling.step.decides),
        "gain": {
            name: mean_gain(_values(before, rows), _values(best, rows), _documents(rows))
            for name, rows in parts.items()
        },
    }
    count = len(ledger.candidates)
    state = new_state(
        compiling.step.name,
        **fields,
        predictor=predictor,
        nearest=nearest or None if best.number else None,
        threshold=predictor.get("fields", {}).get(deciding_output(compiling.step.signature), {}).get("threshold"),
        record={
            **record,
            "calls": ledger.calls,
            "candidates": count,
            "compared": len(compared),
            "detectable_gain": detectable,
            "chosen": best.number,
            "versions": versions_of("dspy", "xllamacpp", "gepa"),
            "measures": recorded(measures),
        },
    )
    figures = {"calls": ledger.calls, "tried": count - 1, "compared": len(compared), "detectable_gain": detectable}
    return CompileReport(
        state=state,
        measures=measures,
        rows=[_row(example, name, before, best) for name, rows in parts.items() for example in rows],
        candidates=[_summary(candidate, dev) for candidate in ledger.candidates],
        prompt=_rendered(predictor, start, adapter),
        figures={**used, **figures},
    )


def _complete_state(state: Mapping[str, Any], start: dspy.Predict) -> dict[str, Any]:
    """Convert a candidate's state to a state of the step.

    Demos keep only fields of the signature, and languages without compiled demos keep their original ones. A critic
    was compiled for its overall output only; its other outputs stay unchanged.
    """
    keys = {*start.signature.fields, *_DEMO_KEYS}
    demos = [{key: value for key, value in dict(demo).items() if key in keys} for demo in state["demos"]]
    covered = {demo.get("language", "en") for demo in demos}
    originals = [demo.toDict() for demo in start.demos if demo.get("language") not in covered] if demos else []
    whole: dict[str, Any] = start.dump_state()
    signature = {**whole["signature"], "instructions": state["signature"]["instructions"]}
    fields = {"fields": state["fields"]} if state.get("fields") else {}
    return {**whole, **fields, "signature": signature, "demos": [*demos, *originals]}


def _values(candidate: Candidate, rows: Sequence[dspy.Example]) -> list[float]:
    return [candidate.scores[example.id].value for example in rows]


def _documents(rows: Sequence[dspy.Example]) -> list[str]:
    return [example.get("document", example.id) for example in rows]


def _measures(candidate: Candidate, parts: Mapping[str, Sequence[dspy.Example]], decides: bool) -> dict[str, Interval]:
    measures = {}
    for name, rows in parts.items():
        documents = _documents(rows)
        measures[name] = mean(_values(candidate, rows), documents)
        if decides:
            good = [bool(example.fit) for example in rows]
            probability = [candidate.outputs[example.id]["probability"] for example in rows]
            measures[f"{name}_auc"] = bootstrap(area_under_roc, good, probability, documents)
            measures[f"{name}_average_precision"] = bootstrap(average_precision, good, probability, documents)
    return measures


def _row(example: dspy.Example, split: str, before: Candidate, after: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {
        "split": split,
        "id": example.id,
        "document": example.get("document", example.id),
        "inputs": str(example.inputs().toDict()),
    }
    if "fit" in example:
        row["fit"] = bool(example.fit)
    for name, candidate in (("before", before), ("after", after)):
        output, scored = candidate.outputs[example.id], candidate.scores[example.id]
        if "fit" in example:
            row[f"{name}_probability"] = output["probability"]
        row |= {f"{name}_output": str(output), f"{name}_score": scored.value, f"{name}_feedback": scored.feedback}
    return row


def _summary(candidate: Candidate, dev: Sequence[dspy.Example]) -> dict[str, Any]:
    return {
        "number": candidate.number,
        "dev": candidate.mean(dev),
        "demos": len(candidate.state["demos"]),
        "instructions": candidate.state["signature"]["instructions"],
    }


def _rendered(state: Mapping[str, Any], start: dspy.Predict, adapter: Any) -> str:
    """Render the prompt with the inputs as ``{{variables}}``."""
    predict = dspy.Predict(start.signature).load_state(dict(state))
    inputs = {name: f"{{{{{name}}}}}" for name in predict.signature.input_fields}
    chat = adapter.format(predict.signature, [dict(demo) for demo in predict.demos], inputs)
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in chat)
