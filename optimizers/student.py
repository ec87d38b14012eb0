"""A single step as a program for DSPy's optimizers, run as in a recipe."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Self, get_origin

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from optimizers.ledger import Candidate, Ledger, State
from programs.deciding import deciding_output, with_explanations, with_one_output
from programs.demos import in_language, in_style
from programs.errors import Stopped
from programs.language_detection import language_of
from programs.nearest import Select


class GeneratorStep(dspy.Module):
    """A predictor that writes, with demos in the language of its inputs.

    ``kept`` are the original demos, which precede those of the predictor. They are stored apart because optimizers
    replace all demos of a predictor.
    """

    def __init__(self, predict: dspy.Predict, ledger: Ledger, adapter: Any) -> None:
        """Wrap a copy of a predictor; set ``select`` to choose among its demos for each input.

        The adapter is used for this step only, not for the optimizer's own calls.
        """
        super().__init__()
        self.predict = predict.deepcopy()
        self.kept: tuple[Any, ...] = tuple(self.predict.demos)
        self.predict.demos = []
        self._ledger = ledger
        self._adapter = adapter
        self._student_lm = _lm_key(dspy.settings.lm)
        self.select: Select | None = None

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Call the model, and mark the prediction with its candidate."""
        candidate = self.candidate()
        demos = in_style(in_language([*self.kept, *self.predict.demos], _language_of(inputs)), inputs)
        if self.select is not None:
            demos = self.select(demos, inputs)
        lm = self.predict.lm or dspy.settings.lm
        prompt = self._adapter.format(self.predict.signature, [dict(demo) for demo in demos], dict(inputs))
        self._ledger.spend(lm.model, lm.kwargs, self.predict.config, prompt)
        try:
            with dspy.context(adapter=self._adapter):
                prediction = self.predict(demos=demos, **inputs)
        except ContextWindowExceededError:  # as in a run, the output is empty
            prediction = dspy.Prediction(**_empty_outputs(self.predict.signature))
        except Exception as error:
            raise Stopped("the model failed") from error
        if self._student_lm in ("", _lm_key(lm)):  # excludes teachers and calls at another temperature
            prediction._candidate = candidate
        return prediction

    def candidate(self) -> Candidate:
        """Return the candidate for the current state."""
        for demo in self.predict.demos:  # bootstrapped demos lack a language
            if "language" not in demo:
                demo["language"] = _language_of({name: demo[name] for name in self.predict.signature.input_fields})
        whole = copy.copy(self.predict)
        whole.demos = [*self.kept, *self.predict.demos]
        return self._ledger.candidate(whole)

    def load(self, state: State, select: Select | None = None) -> None:
        """Load the state of a candidate, which includes the original demos."""
        self.kept, self.select = (), select
        self.predict.load_state(state)

    def drop_replaced_demos(self, kind: Callable[[Mapping[str, Any]], str]) -> None:
        """Drop one original demo of the same language and kind for each demo of the predictor."""
        kept = list(self.kept)
        for demo in self.predict.demos:
            same = (each for each in kept if each["language"] == demo["language"] and kind(each) == kind(demo))
            if (replaced := next(same, None)) is not None:
                kept.remove(replaced)
        self.kept = tuple(kept)


def _empty_outputs(signature: Any) -> dict[str, Any]:
    outputs = signature.output_fields.items()
    return {name: [] if get_origin(field.annotation) is list else "" for name, field in outputs}


def _lm_key(lm: Any) -> str:
    """Return a key for a model with its settings, empty without a model."""
    return "" if lm is None else json.dumps([lm.model, lm.kwargs], sort_keys=True, default=str)


def _language_of(inputs: Mapping[str, Any]) -> str:
    return language_of(" ".join(map(str, inputs.values())))


class CriticStep(dspy.Module):
    """A predictor that decides, reduced to its overall output."""

    def __init__(self, predict: dspy.Predict, ledger: Ledger, critic: Any) -> None:
        """Wrap a predictor with its critic; the other outputs are removed."""
        super().__init__()
        self.predict = dspy.Predict(with_one_output(predict.signature, deciding_output(predict.signature)))
        self.predict.demos = list(predict.demos)
        self._ledger = ledger
        self._overall = deciding_output(predict.signature)
        self._critic = _CachingCritic(critic, ledger, self._overall)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Decide, and mark the prediction with its candidate."""
        candidate = self.candidate()
        try:
            # ReAnchor traces this call, which `decide` would hide.
            decided = self.predict(lm=self._critic, demos=with_explanations(self.predict.demos), **inputs)
        except Exception as error:
            raise Stopped("the critic failed") from error
        prediction = dspy.Prediction(fit=bool(decided[self._overall]), probability=self._critic.probability)
        prediction._candidate = candidate
        return prediction

    def candidate(self) -> Candidate:
        """Return the candidate for the current state."""
        return self._ledger.candidate(self.predict)

    def load(self, state: State, select: Select | None = None) -> None:
        """Load the state of a candidate; critics use all its demos."""
        del select
        self.predict.load_state(state)


class _CachingCritic:
    """A critic with a cache: candidates that differ in their threshold make the same calls.

    ``probability`` is the latest probability of the overall output.
    """

    supports_decision_requests = True

    def __init__(self, critic: Any, ledger: Ledger, overall: str) -> None:
        self._critic = critic
        self._overall = overall
        self._ledger = ledger
        self._cache: dict[str, Any] = {}
        self.probability = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return self: optimizers copy programs, and a critic may hold a model."""
        return self

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> Any:
        """Return the critic's evidence, from the cache if possible."""
        key = json.dumps([state, questions], sort_keys=True, default=str)
        if key not in self._cache:
            self._ledger.spend(key)
            self._cache[key] = self._critic(state, questions)
        evidence = self._cache[key]
        self.probability = float(evidence[self._overall]["noul"])
        return evidence
