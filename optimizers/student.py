"""A step as a program of its own, the way a recipe runs it, for optimizers to work on."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Self, get_origin

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from optimizers.ledger import Candidate, Ledger, State
from programs.deciding import deciding_output, with_explanations, with_one_output
from programs.demos import in_language
from programs.errors import Stopped
from programs.language_detection import language_of
from programs.nearest import Select


class GeneratorStep(dspy.Module):
    """One predictor that writes, given the demos in the language of its inputs.

    ``kept`` are the demos that it started from. They are shown before those of the predictor, and optimizers, which
    take all demos off a predictor before they give it others, do not reach them.
    """

    def __init__(self, predict: dspy.Predict, ledger: Ledger, adapter: Any) -> None:
        """Wrap a copy of a predictor; set ``select`` to choose among its demos for each input.

        The adapter goes with the step, so that optimizers which ask a model of their own do it in their own way.
        """
        super().__init__()
        self.predict = predict.deepcopy()
        self.kept: tuple[Any, ...] = tuple(self.predict.demos)
        self.predict.demos = []
        self._ledger = ledger
        self._adapter = adapter
        self._writer = _called(dspy.settings.lm)
        self.select: Select | None = None

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Write once and note for which candidate."""
        candidate = self.candidate()
        demos = in_language([*self.kept, *self.predict.demos], _language_of(inputs))
        if self.select is not None:
            demos = self.select(demos, inputs)
        lm = self.predict.lm or dspy.settings.lm
        prompt = self._adapter.format(self.predict.signature, [dict(demo) for demo in demos], dict(inputs))
        self._ledger.spend(lm.model, lm.kwargs, self.predict.config, prompt)
        try:
            with dspy.context(adapter=self._adapter):
                prediction = self.predict(demos=demos, **inputs)
        except ContextWindowExceededError:  # too many demos, or a long row: as in a run, nothing comes of it
            prediction = dspy.Prediction(**_nothing(self.predict.signature))
        except Exception as error:
            raise Stopped("the model failed") from error
        if self._writer in ("", _called(lm)):  # not what a teacher wrote, or what was drawn at another temperature
            prediction._candidate = candidate
        return prediction

    def candidate(self) -> Candidate:
        """Return the candidate that the step is now."""
        for demo in self.predict.demos:  # those that a model wrote name no language
            if "language" not in demo:
                demo["language"] = _language_of({name: demo[name] for name in self.predict.signature.input_fields})
        whole = copy.copy(self.predict)
        whole.demos = [*self.kept, *self.predict.demos]
        return self._ledger.candidate(whole)

    def load(self, state: State, select: Select | None = None) -> None:
        """Become a candidate, whose state holds all its demos."""
        self.kept, self.select = (), select
        self.predict.load_state(state)

    def give_way(self, kind: Callable[[Mapping[str, Any]], str]) -> None:
        """Drop for each demo of the predictor one that was kept of the same language and kind."""
        kept = list(self.kept)
        for demo in self.predict.demos:
            same = (each for each in kept if each["language"] == demo["language"] and kind(each) == kind(demo))
            if (found := next(same, None)) is not None:
                kept.remove(found)
        self.kept = tuple(kept)


def _nothing(signature: Any) -> dict[str, Any]:
    """Return empty outputs."""
    outputs = signature.output_fields.items()
    return {name: [] if get_origin(field.annotation) is list else "" for name, field in outputs}


def _called(lm: Any) -> str:
    """Return what tells a model and its settings from others, nothing for none."""
    return "" if lm is None else json.dumps([lm.model, lm.kwargs], sort_keys=True, default=str)


def _language_of(inputs: Mapping[str, Any]) -> str:
    return language_of(" ".join(map(str, inputs.values())))


class CriticStep(dspy.Module):
    """One predictor that decides, asked only whether its input is fit."""

    def __init__(self, predict: dspy.Predict, ledger: Ledger, critic: Any) -> None:
        """Wrap a predictor with the critic that serves it; the other outputs are left out."""
        super().__init__()
        self.predict = dspy.Predict(with_one_output(predict.signature, deciding_output(predict.signature)))
        self._ledger = ledger
        self._overall = deciding_output(predict.signature)
        self._critic = _Asked(critic, ledger, self._overall)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Decide once and note for which candidate."""
        candidate = self.candidate()
        try:
            # Not `decide`: it collects evidence for itself, and ReAnchor must see it.
            decided = self.predict(lm=self._critic, demos=with_explanations(self.predict.demos), **inputs)
        except Exception as error:
            raise Stopped("the critic failed") from error
        prediction = dspy.Prediction(fit=bool(decided[self._overall]), probability=self._critic.probability)
        prediction._candidate = candidate
        return prediction

    def candidate(self) -> Candidate:
        """Return the candidate that the step is now."""
        return self._ledger.candidate(self.predict)

    def load(self, state: State, select: Select | None = None) -> None:
        """Become a candidate; a critic shows all its demos."""
        del select
        self.predict.load_state(state)


class _Asked:
    """A critic that is asked the same only once: moving a threshold does not change what it says.

    ``probability`` is the latest that it gave to the overall output.
    """

    supports_decision_requests = True

    def __init__(self, critic: Any, ledger: Ledger, overall: str) -> None:
        self._critic = critic
        self._overall = overall
        self._ledger = ledger
        self._known: dict[str, Any] = {}
        self.probability = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Stay one: optimizers copy programs, and a critic may hold a model."""
        return self

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> Any:
        """Return the critic's evidence, from memory if it was asked before."""
        key = json.dumps([state, questions], sort_keys=True, default=str)
        if key not in self._known:
            self._ledger.spend(key)
            self._known[key] = self._critic(state, questions)
        evidence = self._known[key]
        self.probability = float(evidence[self._overall]["noul"])
        return evidence
