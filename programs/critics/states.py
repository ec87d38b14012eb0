"""Compiled states: the result of an optimizer for a step and a model, stored as JSON."""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import dspy
from dspy.adapters.decision_state import DecisionState
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PositiveInt, ValidationError
from pydantic_core import from_json

from programs.critics.curve import CurvePoint
from programs.critics.ensemble import Blend
from programs.critics.heads import CriticHeads
from programs.demos import LANGUAGE, demo_error
from programs.errors import StateError
from programs.nearest import ALWAYS
from programs.numbers import Share
from programs.steps import STEPS

# Fields of demos beside those of their step.
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
    """The state of a DSPy predictor. Other keys are refused, because DSPy would set them as attributes.

    ``lm`` must be null: DSPy would use it instead of the model specified by the user.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    traces: list[JsonValue] = []
    train: list[JsonValue] = []
    demos: list[dict[str, JsonValue]]
    signature: _Signature
    fields: dict[str, dict[str, JsonValue]] = {}
    lm: None


def _predictor_error(state: dict[str, Any], signature: type[dspy.Signature]) -> str:
    """Return why a predictor's state does not fit a signature; empty if it fits."""
    try:
        predictor = _Predictor.model_validate(state)
    except ValidationError as error:
        return _first_error(error)
    if len(predictor.signature.fields) != len(signature.fields):
        return f"signature: {len(predictor.signature.fields)} fields, the step has {len(signature.fields)}"
    for number, demo in enumerate(predictor.demos):
        if problem := demo_error(demo, signature, EXTRAS):
            return f"demos.{number}: {problem}"
    try:
        DecisionState(signature, predictor.fields)
    except ValueError as error:
        return f"fields: {error}"
    return ""


def _first_error(error: ValidationError) -> str:
    """Return the first problem of a validation, with its location."""
    first = error.errors(include_url=False)[0]
    location = ".".join(str(part) for part in first["loc"])
    return f"{location}: {first['msg']}" if location else first["msg"]


HEAD = "head"
_VERSION = 1
_MAX_FOLDER_NAME = 200  # bytes; file systems allow 255


class Adapter(BaseModel):
    """A LoRA adapter for one step: a GGUF file in the folder of the state."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(pattern=r"^[\w.-]+\.gguf$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class CompiledState(BaseModel):
    """The result of one compile.

    Attributes:
        version: version of this layout.
        step: the step.
        model: ``head``, or the name of a language model.
        model_sha256: hash of the weights it was compiled with; of the embedder for a head.
        optimizer: the strategy.
        signature: hash of the step's signature; see :func:`signature_hash`.
        dspy: minor version of DSPy that wrote the predictor's state.
        predictor: the state of the DSPy predictor: demos, instructions, thresholds.
        nearest: how many demos nearest to the inputs a call shows, beside those marked ``always``; None for all.
        heads: the fitted heads, for ``head``.
        blend: how head and model are combined, for the critic ``ensemble``.
        head: hash of the head that the blend was fitted with; see :func:`head_hash`.
        adapter: the trained LoRA adapter.
        target_precision: the precision that the threshold was chosen for, if any.
        threshold: candidates with at least this probability are accepted.
        curve: the effect of other thresholds, on questions of runs if there are any, else on dev rows.
        kinds: the effect of the threshold on questions of runs, by kind.
        record: provenance: labels and their hashes, splits, seed, versions, measurements.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = _VERSION
    step: str
    model: str
    model_sha256: str | None = None
    optimizer: str
    signature: str
    dspy: str
    predictor: dict[str, Any]
    nearest: PositiveInt | None = None
    heads: CriticHeads | None = None
    blend: Blend | None = None
    head: str | None = None
    adapter: Adapter | None = None
    target_precision: Share | None = None
    threshold: Share | None = None
    curve: tuple[CurvePoint, ...] = ()
    kinds: dict[str, CurvePoint] = {}
    record: dict[str, Any] = {}


def folder_of(model: str) -> str:
    """Return the folder name for a model's states: its name as a safe path; a long name is cut and gets a hash."""
    name = re.sub(r"[^\w.-]+", "-", model)
    if len(name.encode()) <= _MAX_FOLDER_NAME:
        return name
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name.encode()[:_MAX_FOLDER_NAME].decode(errors='ignore')}-{digest}"


def signature_hash(signature: type[dspy.Signature]) -> str:
    """Return a hash of the prompt of a signature: instructions, fields, descriptions, answer spaces."""
    criteria = DecisionState(signature, {})
    content = {
        "instructions": signature.instructions,
        "inputs": {name: field.json_schema_extra["desc"] for name, field in signature.input_fields.items()},
        "outputs": {
            name: [field.json_schema_extra["desc"], criteria.get_criteria(name) if name in criteria.types else None]
            for name, field in signature.output_fields.items()
        },
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def head_hash(heads: CriticHeads) -> str:
    """Return a hash of the weights of a step's heads."""
    text = heads.model_dump_json(exclude_none=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dspy_version() -> str:
    """Return the minor version of DSPy; predictor states do not change within one."""
    return ".".join(metadata.version("dspy").split(".")[:2])


def parse_state(file: Path, where: Path | str) -> CompiledState:
    """Return the state in a file, for any step; ``where`` is its name in messages.

    Raises:
        StateError: it cannot be read, is invalid, or specifies a language model.
    """
    try:
        text = file.read_bytes()
        state = CompiledState.model_validate_json(text, strict=True)
        json.dumps(from_json(text, allow_inf_nan=False), allow_nan=False)
    except OSError as error:
        raise StateError(f"{where}: {error.strerror or error}") from error
    except ValidationError as error:
        raise StateError(f"{where}: not a compiled state ({_first_error(error)})") from error
    except ValueError as error:
        raise StateError(f"{where}: not a compiled state (it contains NaN or infinity)") from error
    if state.step not in STEPS:
        raise StateError(f"{where}: no step is called {state.step!r}; there are {', '.join(STEPS)}")
    if not folder_of(state.model).strip("."):
        raise StateError(f"{where}: no model is called {state.model!r}; compile it again")
    if _specifies_lm(state.predictor):
        raise StateError(
            f"{where}: names a language model of its own, which would be asked instead of --lm; "
            "set `lm` in its predictor to null, or compile it again"
        )
    return state


def _specifies_lm(value: Any) -> bool:
    """Return whether a JSON value contains a key ``lm`` that is not null."""
    if isinstance(value, dict):
        return value.get("lm") is not None or any(_specifies_lm(item) for item in value.values())
    return isinstance(value, list) and any(_specifies_lm(item) for item in value)


def read_state(file: Path, signature: type[dspy.Signature]) -> CompiledState:
    """Return the state in a file, if it fits the current signature of its step.

    Raises:
        StateError: it cannot be read, is for another step, or does not fit; see :func:`check_state`.
    """
    state = parse_state(file, file)
    if state.step != file.stem:
        raise StateError(f"{file}: contains the state of {state.step!r}; rename it to {state.step}.json")
    check_state(state, signature, file)
    return state


def check_state(state: CompiledState, signature: type[dspy.Signature], where: Path | str) -> None:
    """Refuse a state that does not fit the signature of its step; ``where`` is its name in messages.

    Raises:
        StateError: it is for another signature, layout or minor version of DSPy, or its parts are inconsistent.
    """
    for what, made, now in (
        ("layout", state.version, _VERSION),
        ("signature", state.signature, signature_hash(signature)),
        ("version of DSPy", state.dspy, dspy_version()),
    ):
        if made != now:
            raise StateError(
                f"{where}: compiled for another {what} of the step {state.step} ({made}, now {now}); "
                "compile it again, or use --compiled none"
            )
    if problem := _validation_error(state, signature):
        raise StateError(f"{where}: not a valid state ({problem}); compile it again")


def _validation_error(state: CompiledState, signature: type[dspy.Signature]) -> str:
    """Return why the parts of a state do not fit a signature; empty if they fit."""
    if problem := _predictor_error(state.predictor, signature):
        return f"predictor.{problem}"
    if state.heads is not None:
        if state.heads.step != state.step:
            return f"its heads are for the step {state.heads.step!r}"
        if problem := state.heads.validation_error(signature):
            return f"heads: {problem}"
    if state.blend is not None and state.blend.asked not in signature.output_fields:
        return f"blend.asked: the step has no output {state.blend.asked!r}"
    return ""


def read_states(folder: Path, signatures: Mapping[str, type[dspy.Signature]]) -> dict[str, CompiledState]:
    """Return the states in a folder, by step; files are named ``<step>.json``.

    Raises:
        StateError: a state cannot be used; see :func:`read_state`.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return {file.stem: read_state(file, signatures[file.stem]) for file in files if file.stem in signatures}
