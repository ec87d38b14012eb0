"""Decisions of critics: predicted values with their probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from dspy.adapters.decision import record_evidence
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from programs.errors import CriticError
from programs.numbers import Share

OVERALL = "fit"
UNREADABLE = "the critic's answer cannot be read"


class Decision(BaseModel):
    """The decision of a critic.

    If there is an output ``fit``, it decides and the others explain it; else all must be true.

    Attributes:
        values: yes/no outputs after thresholds.
        probabilities: the probability of true, for yes/no outputs.
        levels: the expected level, for scores, if the critic judges those.
        reasons: reasons in words, if the critic gives any.
    """

    model_config = ConfigDict(frozen=True)

    values: dict[str, bool]
    probabilities: dict[str, float]
    levels: dict[str, float]
    reasons: dict[str, str] = {}

    @property
    def good(self) -> bool:
        """Return whether the overall output is true; without one, whether all are."""
        return self.values.get(OVERALL, all(self.values.values()))

    @property
    def probability(self) -> float:
        """Return the probability of the overall output; without one, the smallest."""
        return self.probabilities.get(OVERALL, min(self.probabilities.values()))

    @property
    def weakest(self) -> str:
        """Return the output with the smallest probability, other than the overall one."""
        return min(self.probabilities, key=lambda name: (name == OVERALL, self.probabilities[name]))

    @property
    def failed_output(self) -> str:
        """Return the output that caused a refusal.

        If the critic gives reasons and no other output is false, it is the overall one.
        """
        is_overall = bool(self.reasons) and OVERALL in self.values and self.values.get(self.weakest)
        return OVERALL if is_overall else self.weakest

    @property
    def reason(self) -> str:
        """Return the critic's reason for a refusal; empty if it gave none."""
        return self.reasons.get(self.failed_output, "")

    @property
    def refusal(self) -> str:
        """Return the reason for a reject."""
        if self.reason == UNREADABLE:
            return UNREADABLE
        return with_reason(f"not {self.failed_output.replace('_', '-')}", self.reason)

    def as_output(self) -> dict[str, Any]:
        """Return probabilities and levels as a trail records them."""
        figures = {**self.probabilities, **self.levels}
        return {name: round(value, 4) for name, value in figures.items()}

    def parts(self) -> dict[str, float]:
        """Return the figures of all outputs but the overall one."""
        return {name: value for name, value in self.as_output().items() if name != OVERALL}


def without_answer(decision: Decision) -> Decision:
    """Return the decision on a question that its passage must not answer: all but that must be as for others."""
    yes = decision.probabilities["answerable"]
    reason = decision.reasons.get("answerable")
    return Decision(
        values={**_parts(decision.values), "unanswerable": not decision.values["answerable"]},
        probabilities={**_parts(decision.probabilities), "unanswerable": 1 - yes},
        levels=decision.levels,
        reasons={**_parts(decision.reasons), **({"unanswerable": reason} if reason else {})},
    )


def _parts(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name not in (OVERALL, "answerable")}


def with_reason(problem: str, reason: str) -> str:
    """Return a problem with the critic's reason, if it gave one."""
    return f"{problem}: {reason}" if reason else problem


class _Noul(BaseModel):
    noul: Share  # DSPy's name for a yes/no decision, and the key of its probability


class _Levels(BaseModel):
    probabilities: dict[str, Share]
    confidence: Share


_EVIDENCE = TypeAdapter(dict[str, _Noul | _Levels])


class _CheckedCritic:
    """Checks that a critic's answers are probabilities, because comparisons with NaN are always false."""

    supports_decision_requests = True

    def __init__(self, critic: Any) -> None:
        self._critic = critic

    def __call__(self, state: Any, questions: Any) -> Any:
        return self._checked(self._critic(state, questions))

    async def acall(self, state: Any, questions: Any) -> Any:
        return self._checked(await self._critic.acall(state, questions))

    def _checked(self, evidence: Any) -> Any:
        try:
            _EVIDENCE.validate_python(evidence)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise CriticError(
                f"the critic's answer to {first['loc'][0] if first['loc'] else 'a question'} is not a probability "
                f"({first['input']!r:.40}); check its weights, its state (--compiled) and its server"
            ) from error
        return evidence


def decide(predict: dspy.Predict, critic: Any, **inputs: Any) -> Decision:
    """Let a critic decide the outputs of a predictor.

    Raises:
        CriticError: an answer of the critic is not a probability.
    """
    with record_evidence() as log:
        prediction = predict(lm=_CheckedCritic(critic), demos=with_explanations(predict.demos), **inputs)
    values, probabilities, levels, reasons = {}, {}, {}, {}
    for _, name, evidence in log:
        if evidence.get("reason"):
            reasons[name] = str(evidence["reason"])
        if "noul" in evidence:
            values[name] = bool(prediction[name])
            probabilities[name] = float(evidence["noul"])
        elif not evidence.get("unjudged"):
            levels[name] = float(prediction[name])
    return Decision(values=values, probabilities=probabilities, levels=levels, reasons=reasons)


def deciding_output(signature: type[dspy.Signature]) -> str:
    """Return the output of a signature that decides: the overall one, or the only one."""
    outputs = list(signature.output_fields)
    return OVERALL if OVERALL in outputs else outputs[0]


def with_one_output(signature: type[dspy.Signature], output: str) -> type[dspy.Signature]:
    """Return a signature with only one of its outputs."""
    for name in list(signature.output_fields):
        if name != output:
            signature = signature.delete(name)
    return signature


def with_explanations(demos: Sequence[Any]) -> list[dict[str, Any]]:
    """Return demos with their ``explanation``, if they have one, joined to their yes/no values."""
    joined = []
    for demo in demos:
        fields = dict(demo)
        reason = fields.pop("explanation", "")
        joined.append(
            {name: (value, reason) if reason and isinstance(value, bool) else value for name, value in fields.items()}
        )
    return joined
