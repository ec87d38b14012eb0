"""What a search for a prompt found: the best candidate's state, and the report of it and of the step as it was."""

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

_KEPT_KEYS = ("language", "explanation", "augmented", ALWAYS)


def report_of(
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
    """Return the report of a search, but for its parameters and its ending.

    Args:
        compiling: the step.
        ledger: has every candidate; the first is the step as it was.
        best: the candidate to keep.
        parts: the examples that both were evaluated on, by split, ``dev`` among them.
        start: the predictor that the search started from.
        adapter: renders the prompt.
        nearest: how many demos a call chooses from the state's own, 0 for all of them.
        record, fields: what the state says of how it was made, and its other fields.
        used: calls, tokens and seconds of the model.
    """
    before, dev = ledger.candidates[0], parts["dev"]
    predictor = _finished(best.state, start)
    compared = [candidate for candidate in ledger.candidates[1:] if candidate.mean(dev) is not None]
    deviation = paired_deviation(_values(before, dev), [_values(candidate, dev) for candidate in compared])
    # As the candidates really differed, else as it was measured of the step before.
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


def _finished(state: Mapping[str, Any], start: dspy.Predict) -> dict[str, Any]:
    """Return a candidate's state for the whole step.

    Demos hold only what the step shows, and the languages without compiled ones keep those that they had. A critic
    was asked for one of its outputs only; the others stay as they were.
    """
    shown = {*start.signature.fields, *_KEPT_KEYS}
    demos = [{key: value for key, value in dict(demo).items() if key in shown} for demo in state["demos"]]
    covered = {demo.get("language", "en") for demo in demos}
    others = [demo.toDict() for demo in start.demos if demo.get("language") not in covered] if demos else []
    whole: dict[str, Any] = start.dump_state()
    signature = {**whole["signature"], "instructions": state["signature"]["instructions"]}
    fields = {"fields": state["fields"]} if state.get("fields") else {}
    return {**whole, **fields, "signature": signature, "demos": [*demos, *others]}


def _values(candidate: Candidate, rows: Sequence[dspy.Example]) -> list[float]:
    return [candidate.scores[example.id].value for example in rows]


def _documents(rows: Sequence[dspy.Example]) -> list[str]:
    return [example.get("document", example.id) for example in rows]


def _measures(candidate: Candidate, parts: Mapping[str, Sequence[dspy.Example]], decides: bool) -> dict[str, Interval]:
    found = {}
    for name, rows in parts.items():
        documents = _documents(rows)
        found[name] = mean(_values(candidate, rows), documents)
        if decides:
            good = [bool(example.fit) for example in rows]
            probability = [candidate.outputs[example.id]["probability"] for example in rows]
            found[f"{name}_auc"] = bootstrap(area_under_roc, good, probability, documents)
            found[f"{name}_average_precision"] = bootstrap(average_precision, good, probability, documents)
    return found


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
    """Return the prompt with the inputs as ``{{variables}}``."""
    predict = dspy.Predict(start.signature).load_state(dict(state))
    inputs = {name: f"{{{{{name}}}}}" for name in predict.signature.input_fields}
    chat = adapter.format(predict.signature, [dict(demo) for demo in predict.demos], inputs)
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in chat)
