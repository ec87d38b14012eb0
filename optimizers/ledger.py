"""The record of an optimizer's candidates, with their score on each example.

DSPy's optimizers return their candidates only at the end. Here the step records each candidate and the metric records
each score, so that an interrupted search still has its best candidate.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Self

import dspy

from optimizers.steps.base import Judges, Metric, Scored
from programs.errors import Stopped

State = dict[str, Any]


class Candidate:
    """A predictor's state with its scores and outputs by example id."""

    def __init__(self, number: int, state: State) -> None:
        """Start without scores; candidate 0 is the predictor that an optimizer starts from."""
        self.number = number
        self.state = state
        self.scores: dict[str, Scored] = {}
        self.outputs: dict[str, dict[str, Any]] = {}

    def mean(self, examples: Sequence[dspy.Example]) -> float | None:
        """Return the mean score on examples, None if some were not evaluated."""
        values = [self.scores[example.id].value for example in examples if example.id in self.scores]
        return sum(values) / len(values) if len(values) == len(examples) else None


class Ledger:
    """Counts calls against a budget and records scores; its :meth:`metric` is passed to optimizers."""

    def __init__(self, metric: Metric, judges: Judges, on_call: Callable[[], None] | None = None) -> None:
        """Score outputs with a step's metric; ``on_call`` is called for each call."""
        self._metric = metric
        self._judges = judges._replace(answer=self._counted(judges.answer))
        self._on_call = on_call
        self._candidates: dict[str, Candidate] = {}
        self._requests: set[str] = set()
        self.calls = 0
        self.budget: int | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return self: optimizers copy steps, and all copies must share the ledger."""
        return self

    @property
    def candidates(self) -> list[Candidate]:
        """Return the candidates in order of their first call."""
        return list(self._candidates.values())

    def spend(self, *request: Any) -> None:
        """Count a call, unless it repeats an earlier one, which the journal answers.

        After a resume, replayed calls count against the budget, which keeps the compile deterministic.

        Raises:
            Stopped: the budget is spent.
        """
        key = json.dumps(request, sort_keys=True, default=str)
        if key in self._requests:
            return
        if self.budget is not None and self.calls >= self.budget:
            raise Stopped("the budget is spent")
        self._requests.add(key)
        self.calls += 1
        if self._on_call is not None:
            self._on_call()

    def _counted(self, answer: Callable[[str, str, str], str]) -> Callable[[str, str, str], str]:
        def counted(topic: str, passage: str, question: str) -> str:
            self.spend("answer", topic, passage, question)
            return answer(topic, passage, question)

        return counted

    def candidate(self, predict: dspy.Predict) -> Candidate:
        """Return the candidate with the state of a predictor, a new one if the state is new."""
        state = predict.dump_state()
        parts = {key: state.get(key) for key in ("demos", "signature", "fields")}
        key = json.dumps(parts, sort_keys=True, default=str)
        if key not in self._candidates:
            self._candidates[key] = Candidate(len(self._candidates), state)
        return self._candidates[key]

    def metric(
        self, example: dspy.Example, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        """Score a prediction as a DSPy metric; with feedback if ``pred_name`` is given, as by GEPA."""
        del trace, pred_trace
        candidate: Candidate | None = getattr(prediction, "_candidate", None)
        output = prediction.toDict()
        if candidate is not None and candidate.outputs.get(example.id) == output:
            scored = candidate.scores[example.id]
        else:
            scored = self._scored(example, prediction)
        if candidate is not None:
            candidate.scores[example.id], candidate.outputs[example.id] = scored, output
        if pred_name is not None:
            return dspy.Prediction(score=scored.value, feedback=scored.feedback or "Good.")
        return scored.value

    def _scored(self, example: dspy.Example, prediction: Any) -> Scored:
        try:
            return self._metric(example, prediction, self._judges)
        except Exception as error:
            raise Stopped("the metric failed") from error

    def best(self, examples: Sequence[dspy.Example]) -> Candidate:
        """Return the candidate with the highest mean on examples, the earliest of equals.

        Raises:
            ValueError: no candidate was evaluated on all examples.
        """
        means = [(candidate.mean(examples), candidate) for candidate in self.candidates]
        known = [(mean, -candidate.number, candidate) for mean, candidate in means if mean is not None]
        if not known:
            raise ValueError("no candidate was evaluated on all examples")
        return max(known, key=lambda entry: entry[:2])[2]
