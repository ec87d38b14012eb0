"""Asking a critic: predicted values together with the probabilities behind them."""

from collections.abc import Sequence
from typing import Any

import dspy
from dspy.adapters.decision import record_evidence
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from programs.errors import CriticError
from programs.numbers import Share

OVERALL = "fit"
UNREADABLE = "the critic's answer cannot be read"


class Decision(BaseModel):
    """What a critic said: ``values`` after thresholds, ``probabilities`` of true for yes/no outputs,
    ``levels`` as expected level index for scores, if the critic judges those, ``reasons`` in words if it gives some.

    Where a signature asks ``fit``, that output decides and the others say why; elsewhere all must be true.
    """

    model_config = ConfigDict(frozen=True)

    values: dict[str, bool]
    probabilities: dict[str, float]
    levels: dict[str, float]
    reasons: dict[str, str] = {}

    @property
    def good(self) -> bool:
        """Return whether the overall output is true, or every one where there is none."""
        return self.values.get(OVERALL, all(self.values.values()))

    @property
    def probability(self) -> float:
        """Return the probability of the overall output, or the smallest one where there is none."""
        return self.probabilities.get(OVERALL, min(self.probabilities.values()))

    @property
    def weakest(self) -> str:
        """Return the name of the output with the smallest probability, the overall one left aside."""
        return min(self.probabilities, key=lambda name: (name == OVERALL, self.probabilities[name]))

    @property
    def blamed(self) -> str:
        """Return the name of the output that caused a refusal.

        Where a critic gives reasons and none of the others is false, it is the overall one: its reason tells why.
        """
        is_overall = bool(self.reasons) and OVERALL in self.values and self.values.get(self.weakest)
        return OVERALL if is_overall else self.weakest

    @property
    def why(self) -> str:
        """Return the critic's reason for a refusal, nothing if it gives none."""
        return self.reasons.get(self.blamed, "")

    @property
    def refusal(self) -> str:
        """Return the reason that a reject records."""
        return self.why if self.why == UNREADABLE else because(f"not {self.blamed.replace('_', '-')}", self.why)

    def as_output(self) -> dict[str, Any]:
        """Return the figures as they go into a trail."""
        figures = {**self.probabilities, **self.levels}
        return {name: round(value, 4) for name, value in figures.items()}

    def parts(self) -> dict[str, float]:
        """Return the figures that say why: all but the overall one."""
        return {name: value for name, value in self.as_output().items() if name != OVERALL}


def because(what: str, why: str) -> str:
    """Return what is wrong, with the critic's reason if it gave one."""
    return f"{what}: {why}" if why else what


class _Noul(BaseModel):
    noul: Share


class _Levels(BaseModel):
    probabilities: dict[str, Share]
    confidence: Share


_EVIDENCE = TypeAdapter(dict[str, _Noul | _Levels])


class _Checked:
    """A critic whose answers are checked to be probabilities, because NaN passes or fails no threshold."""

    supports_decision_requests = True

    def __init__(self, critic: Any) -> None:
        self._critic = critic

    def __call__(self, state: Any, questions: Any) -> Any:
        return self._checked(self._critic(state, questions))

    async def acall(self, state: Any, questions: Any) -> Any:
        return self._checked(await self._critic.acall(state, questions))

    def _checked(self, said: Any) -> Any:
        try:
            _EVIDENCE.validate_python(said)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            raise CriticError(
                f"the critic's answer to {wrong['loc'][0] if wrong['loc'] else 'a question'} is no probability "
                f"({wrong['input']!r:.40}): its weights, its state (--compiled) or its server are damaged"
            ) from error
        return said


def decide(predict: dspy.Predict, critic: Any, **inputs: Any) -> Decision:
    """Ask a critic the decision outputs of one predictor.

    Demos that carry an ``explanation`` show it with their yes or no.

    Raises:
        CriticError: what the critic says is no probability.
    """
    with record_evidence() as log:
        prediction = predict(lm=_Checked(critic), demos=explained(predict.demos), **inputs)
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


def overall_of(signature: type[dspy.Signature]) -> str:
    """Return the output of a signature that decides: the overall one, or the only one."""
    outputs = list(signature.output_fields)
    return OVERALL if OVERALL in outputs else outputs[0]


def asking_only(signature: type[dspy.Signature], output: str) -> type[dspy.Signature]:
    """Return a signature that asks for one of its outputs alone."""
    for name in list(signature.output_fields):
        if name != output:
            signature = signature.delete(name)
    return signature


def explained(demos: Sequence[Any]) -> list[dict[str, Any]]:
    """Return demos whose yes or no comes with their explanation, where they carry one."""
    explained_demos = []
    for demo in demos:
        fields = dict(demo)
        why = fields.pop("explanation", "")
        explained_demos.append(
            {name: (value, why) if why and isinstance(value, bool) else value for name, value in fields.items()}
        )
    return explained_demos
