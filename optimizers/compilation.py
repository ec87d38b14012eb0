"""What a compile found: the best candidate's state, and what was measured of it and of the step as it was."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dspy

from optimizers.ledger import Candidate, Ledger
from optimizers.measures import Interval, area_under_roc, average_precision, bootstrap, mean, mean_gain
from optimizers.power import paired_deviation
from programs.nearest import ALWAYS

_KEPT_KEYS = ("language", "explanation", "augmented", ALWAYS)


class Compilation(NamedTuple):
    """How a compile went.

    Attributes:
        predictor: the state of the best candidate, with the starting demos of the languages that it has none for.
        chosen: the number of the best candidate; 0 is the step as it was.
        tried: for each candidate its number, its mean on dev if it was evaluated on all of it, how many demos it
            shows and its instructions.
        measures: for ``before`` and ``after`` the figures on train, dev and test; ``gain`` has the paired differences.
        calls: how many calls it took in all.
        ending: ``complete``, ``budget`` or ``interrupted``; then train and test rows were not measured.
        rows: what both said of each example that was measured.
        prompt: the prompt with the inputs as ``{{variables}}``.
        deviation: the standard deviation of paired differences on dev between the step as it was and the candidates
            that were evaluated on all of it; None if there are none.
    """

    predictor: dict[str, Any]
    chosen: int
    tried: list[dict[str, Any]]
    measures: dict[str, dict[str, Interval]]
    calls: int
    ending: str
    rows: list[dict[str, Any]]
    prompt: str
    deviation: float | None

    @property
    def compared(self) -> int:
        """Return how many candidates beside the step as it was were evaluated on all dev examples."""
        return sum(told["dev"] is not None for told in self.tried[1:])


def told_of(
    ledger: Ledger,
    best: Candidate,
    parts: Mapping[str, Sequence[dspy.Example]],
    *,
    start: dspy.Predict,
    decides: bool,
    ending: str,
    adapter: Any,
) -> Compilation:
    """Return how a compile went.

    Args:
        ledger: has every candidate; the first is the step as it was.
        best: the candidate to keep.
        parts: the examples that both were evaluated on, by split, ``dev`` among them.
        start: the predictor that the search started from.
        decides: whether the step decides.
        ending: see :class:`Compilation`.
        adapter: renders the prompt.
    """
    before, dev = ledger.candidates[0], parts["dev"]
    predictor = _finished(best.state, start)
    compared = [each for each in ledger.candidates[1:] if each.mean(dev) is not None]
    return Compilation(
        predictor=predictor,
        chosen=best.number,
        tried=[_told(candidate, dev) for candidate in ledger.candidates],
        measures={
            "before": _measures(before, parts, decides=decides),
            "after": _measures(best, parts, decides=decides),
            "gain": {
                name: mean_gain(_values(before, rows), _values(best, rows), _documents(rows))
                for name, rows in parts.items()
            },
        },
        calls=ledger.calls,
        ending=ending,
        rows=[_row(example, name, before, best) for name, rows in parts.items() for example in rows],
        prompt=_rendered(predictor, start, adapter),
        deviation=paired_deviation(_values(before, dev), [_values(each, dev) for each in compared]),
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


def _measures(
    candidate: Candidate, parts: Mapping[str, Sequence[dspy.Example]], *, decides: bool
) -> dict[str, Interval]:
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
    told: dict[str, Any] = {
        "split": split,
        "id": example.id,
        "document": example.get("document", example.id),
        "inputs": str(example.inputs().toDict()),
    }
    if "fit" in example:
        told["fit"] = bool(example.fit)
    for name, candidate in (("before", before), ("after", after)):
        if "fit" in example:
            told[f"{name}_probability"] = candidate.outputs[example.id]["probability"]
        scored = candidate.scores[example.id]
        told |= {f"{name}_output": str(candidate.outputs[example.id]), f"{name}_score": scored.value}
        told[f"{name}_feedback"] = scored.feedback
    return told


def _told(candidate: Candidate, dev: Sequence[dspy.Example]) -> dict[str, Any]:
    signature = candidate.state["signature"]
    demos = len(candidate.state["demos"])
    return {
        "number": candidate.number,
        "dev": candidate.mean(dev),
        "demos": demos,
        "instructions": signature["instructions"],
    }


def _rendered(state: Mapping[str, Any], start: dspy.Predict, adapter: Any) -> str:
    predict = dspy.Predict(start.signature).load_state(dict(state))
    inputs = {name: f"{{{{{name}}}}}" for name in predict.signature.input_fields}
    chat = adapter.format(predict.signature, [dict(demo) for demo in predict.demos], inputs)
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in chat)
