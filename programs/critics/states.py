"""Compiled states: what an optimizer found for a step and a model, as JSON, never as a pickle."""

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
from programs.demos import LANGUAGE, demo_fault
from programs.errors import StateError
from programs.nearest import ALWAYS
from programs.numbers import Share
from programs.steps import STEPS

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
    """What DSPy writes of a predictor; other keys are refused, because DSPy would set them as attributes.

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
    """Return why a predictor's state does not fit a signature; empty if it fits."""
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
    """Return the first problem of a validation, with its place."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


HEAD = "head"
_VERSION = 1
_LONGEST_FOLDER = 200  # bytes; file systems know names of 255


class Adapter(BaseModel):
    """Weights that a local model takes beside its own for one step: a GGUF file in the folder of the state."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(pattern=r"^[\w.-]+\.gguf$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class CompiledState(BaseModel):
    """The outcome of one compile.

    Attributes:
        version: of this layout.
        step: the step it is for.
        model: what it was compiled for: ``head``, or the name of a language model.
        model_sha256: the weights it was compiled with: the embedder's for a head.
        optimizer: the strategy that found it.
        signature: the hash of the signature that the step had; see :func:`signature_hash`.
        dspy: the minor version of DSPy that wrote the predictor's state.
        predictor: the predictor's own state: demos, instructions, thresholds.
        nearest: how many of the demos a call takes, those nearest to its input, beside those marked ``always``; all of
            them if it is not set.
        heads: the fitted heads, for ``head``.
        blend: how a head and the model decide together, for the critic ``ensemble``.
        head: the hash of the head that the blend was fitted with; see :func:`head_hash`.
        adapter: weights that were trained for the step.
        target_precision: what the threshold promises, if it was chosen for that.
        threshold: the probability from which on a candidate is accepted.
        curve: what other thresholds would do on the rows that it was chosen on: questions of runs, else dev rows.
        kinds: what the threshold does on questions of runs, by what they ask for.
        record: how it came about: labels and their hashes, splits, seed, versions, measures.
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
    """Return the name of the folder that holds a model's states: its name, safe for a path.

    A name that is too long is cut, and gets a hash so that it stays unique.
    """
    name = re.sub(r"[^\w.-]+", "-", model)
    if len(name.encode()) <= _LONGEST_FOLDER:
        return name
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name.encode()[:_LONGEST_FOLDER].decode(errors='ignore')}-{digest}"


def signature_hash(signature: type[dspy.Signature]) -> str:
    """Return a hash of everything that a signature asks: instructions, fields, descriptions, answer spaces."""
    criteria = DecisionState(signature, {})
    asked = {
        "instructions": signature.instructions,
        "inputs": {name: field.json_schema_extra["desc"] for name, field in signature.input_fields.items()},
        "outputs": {
            name: [field.json_schema_extra["desc"], criteria.get_criteria(name) if name in criteria.types else None]
            for name, field in signature.output_fields.items()
        },
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def head_hash(heads: CriticHeads) -> str:
    """Return a hash of the weights of a step's heads."""
    text = heads.model_dump_json(exclude_none=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dspy_version() -> str:
    """Return the minor version of DSPy; predictor states do not change within one."""
    return ".".join(metadata.version("dspy").split(".")[:2])


def parse_state(file: Path, where: Path | str) -> CompiledState:
    """Return the state in a file, whatever it is for; ``where`` is what messages call it.

    Raises:
        StateError: it cannot be read or is no state, a number in it is none or out of range, its names are none of
            ours, or it names a language model.
    """
    try:
        text = file.read_bytes()
        state = CompiledState.model_validate_json(text, strict=True)
        json.dumps(from_json(text, allow_inf_nan=False), allow_nan=False)
    except OSError as error:
        raise StateError(f"{where}: {error.strerror or error}") from error
    except ValidationError as error:
        raise StateError(f"{where}: no compiled state ({first_fault(error)})") from error
    except ValueError as error:
        raise StateError(f"{where}: no compiled state (NaN and infinity are no numbers)") from error
    if state.step not in STEPS:
        raise StateError(f"{where}: no step is called {state.step!r}; there are {', '.join(STEPS)}")
    if not folder_of(state.model).strip("."):
        raise StateError(f"{where}: no model is called {state.model!r}; compile it again")
    if _named_models(state.predictor):
        raise StateError(
            f"{where}: names a language model of its own, which would be asked instead of --lm; "
            "set `lm` in its predictor to null, or compile it again"
        )
    return state


def _named_models(found: Any) -> bool:
    """Return whether a language model is named anywhere in what was read from JSON."""
    if isinstance(found, dict):
        return found.get("lm") is not None or any(_named_models(value) for value in found.values())
    return isinstance(found, list) and any(_named_models(value) for value in found)


def read_state(file: Path, signature: type[dspy.Signature]) -> CompiledState:
    """Return the state in a file, if it fits the signature that its step has now.

    Raises:
        StateError: it cannot be read, was made for another step, or does not fit; see :func:`check_state`.
    """
    state = parse_state(file, file)
    if state.step != file.stem:
        raise StateError(f"{file}: holds the state of {state.step!r}; a file is named after its step: rename it")
    check_state(state, signature, file)
    return state


def check_state(state: CompiledState, signature: type[dspy.Signature], where: Path | str) -> None:
    """Refuse a state that does not fit the signature of its step; ``where`` is what messages call it.

    Raises:
        StateError: it was made for another signature, layout or minor version of DSPy, or its parts do not fit these.
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
    if wrong := _fault(state, signature):
        raise StateError(f"{where}: no state that a compile writes ({wrong}); compile it again")


def _fault(state: CompiledState, signature: type[dspy.Signature]) -> str:
    """Return why the parts of a state do not fit a signature; empty if they fit."""
    if wrong := predictor_fault(state.predictor, signature):
        return f"predictor.{wrong}"
    if state.heads is not None:
        if state.heads.step != state.step:
            return f"its heads are of the step {state.heads.step!r}"
        if wrong := state.heads.fault(signature):
            return f"heads: {wrong}"
    if state.blend is not None and state.blend.asked not in signature.output_fields:
        return f"blend.asked: the step has no output {state.blend.asked!r}"
    return ""


def read_states(folder: Path, signatures: Mapping[str, type[dspy.Signature]]) -> dict[str, CompiledState]:
    """Return the states in a folder, by step; files are named ``<step>.json``.

    Raises:
        StateError: one of them cannot be used; see :func:`read_state`.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return {file.stem: read_state(file, signatures[file.stem]) for file in files if file.stem in signatures}
