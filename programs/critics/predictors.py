"""What a compiled state says of DSPy's predictor, checked before the predictor takes it over."""

from typing import Any

import dspy
from dspy.adapters.decision_state import DecisionState
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from programs.demos import LANGUAGE, demo_fault
from programs.nearest import ALWAYS

# What demos carry beside the fields of their step: who wrote them, and why a decision is as it is.
EXTRAS = (LANGUAGE, "explanation", "augmented", ALWAYS)


class _Field(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    prefix: str
    description: str


class _Signature(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    instructions: str
    fields: list[_Field]


class _Predictor(BaseModel):
    """What DSPy writes of a predictor; it would set whatever else a state holds as an attribute.

    A language model in it would be asked instead of the one that was named.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    traces: list[JsonValue] = []
    train: list[JsonValue] = []
    demos: list[dict[str, JsonValue]]
    signature: _Signature
    fields: dict[str, dict[str, JsonValue]] = {}
    lm: None


def predictor_fault(state: dict[str, Any], signature: type[dspy.Signature]) -> str:
    """Return what keeps a predictor's state from fitting a signature; nothing if it fits."""
    try:
        predictor = _Predictor.model_validate(state)
    except ValidationError as error:
        return first_fault(error)
    if len(predictor.signature.fields) != len(signature.fields):
        return f"signature: {len(predictor.signature.fields)} fields, the step has {len(signature.fields)}"
    for number, demo in enumerate(predictor.demos):
        if wrong := demo_fault(demo, signature, EXTRAS):
            return f"demos.{number}: {wrong}"
    try:
        DecisionState(signature, predictor.fields)
    except ValueError as error:
        return f"fields: {error}"
    return ""


def first_fault(error: ValidationError) -> str:
    """Return where the first thing is that a validation found, and what."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
