"""What an optimizer tries: every candidate that it evaluates, with its score on each example.

DSPy's optimizers give their candidates only when they end. Here the step itself notes which candidate answers, and
the metric what the answer was worth, so that one that is interrupted still leaves the best so far.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Self

import dspy

from optimizers.steps.base import Judges, Metric, Scored
from programs.errors import Stopped

State = dict[str, Any]


class Candidate:
    """A predictor's state with its score on each example by id."""

    def __init__(self, number: int, state: State) -> None:
        """Begin without scores; numbers count from 0, the predictor that an optimizer starts from."""
        self.number = number
        self.state = state
        self.scores: dict[str, Scored] = {}
        self.outputs: dict[str, dict[str, Any]] = {}

    def mean(self, examples: Sequence[dspy.Example]) -> float | None:
        """Return the mean score on examples, None unless all of them were evaluated."""
        values = [self.scores[example.id].value for example in examples if example.id in self.scores]
        return sum(values) / len(values) if len(values) == len(examples) else None


class Ledger:
    """Counts calls against a budget and keeps what each candidate did; the metric that optimizers are given."""

    def __init__(self, metric: Metric, judges: Judges, on_call: Callable[[], None] | None = None) -> None:
        """Keep scores by a step's metric; ``on_call`` is told of each call."""
        self._metric = metric
        self._judges = judges._replace(answer=self._counted(judges.answer))
        self._on_call = on_call
        self._candidates: dict[str, Candidate] = {}
        self._asked: set[str] = set()
        self.calls = 0
        self.budget: int | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Stay one: optimizers copy the step that holds the ledger."""
        return self

    @property
    def candidates(self) -> list[Candidate]:
        """Return the candidates in the order in which they first answered."""
        return list(self._candidates.values())

    def spend(self, *asked: Any) -> None:
        """Count a call, unless the same was asked before: a journal answers that.

        What an attempt that was ended asked counts once more, so that the same compile finds the same.

        Raises:
            Stopped: the budget is spent.
        """
        key = json.dumps(asked, sort_keys=True, default=str)
        if key in self._asked:
            return
        if self.budget is not None and self.calls >= self.budget:
            raise Stopped("the budget is spent")
        self._asked.add(key)
        self.calls += 1
        if self._on_call is not None:
            self._on_call()

    def _counted(self, answer: Callable[[str, str, str], str]) -> Callable[[str, str, str], str]:
        def asked(topic: str, passage: str, question: str) -> str:
            self.spend("answer", topic, passage, question)
            return answer(topic, passage, question)

        return asked

    def candidate(self, predict: dspy.Predict) -> Candidate:
        """Return the candidate that a predictor is."""
        state = predict.dump_state()
        asked = {key: state.get(key) for key in ("demos", "signature", "fields")}
        key = json.dumps(asked, sort_keys=True, default=str)
        if key not in self._candidates:
            self._candidates[key] = Candidate(len(self._candidates), state)
        return self._candidates[key]

    def metric(
        self, example: dspy.Example, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        """Return what a prediction is worth, as DSPy's optimizers ask for it; with the feedback where GEPA does."""
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
        """Return the candidate with the highest mean on examples; the earliest of equals.

        Raises:
            ValueError: none was evaluated on all of them.
        """
        means = [(candidate.mean(examples), candidate) for candidate in self.candidates]
        known = [(mean, -candidate.number, candidate) for mean, candidate in means if mean is not None]
        if not known:
            raise ValueError("no candidate was evaluated on all examples")
        return max(known, key=lambda entry: entry[:2])[2]
