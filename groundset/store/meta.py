"""The metadata of a run, by name: every value is validated whenever it is read.

Keys that a model here does not have are allowed; those that it has may be missing.
"""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, StrictInt, TypeAdapter

from groundset.store.lineage import Lineage
from programs.numbers import MOST, check_numbers

_Text = InstanceOf[str]  # a path holds halves of characters for bytes that are no UTF-8, and Pydantic's own texts none
_Whole = Annotated[StrictInt, Field(ge=0, lt=MOST)]
_Share = Annotated[float, Field(ge=0, le=1, strict=True)]


class _Meta(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Model(_Meta):
    name: _Text = ""
    sha256: str | None = None
    compiled: str | None = None


class _Models(_Meta):
    lm: _Model = _Model()
    embedder: _Model = _Model()
    parser: _Model = _Model()
    critic: _Model = _Model()
    critic_lm: _Model | None = None


class _Estimate(_Meta):
    expected_good: _Share = 0.0
    interval: tuple[_Share, _Share] = (0.0, 1.0)
    measured_on: _Whole | None = None


class _State(_Estimate):
    model: str | None = None
    optimizer: str | None = None
    threshold: _Share | None = None
    kinds: dict[str, _Estimate] = {}


class _Configuration(_Meta):
    documents: list[_Text] | None = None
    chunks: _Text | None = None
    recipe: str | None = None
    lm: _Text | None = None
    critic_lm: _Text | None = None
    embedder: _Text | None = None
    parser: _Text | None = None
    chunker: str | None = None
    ask: str | None = None
    size: _Whole | None = None
    max_rank: _Whole | None = None


class _Mode(_Meta):
    name: str
    why: str


class _Asked(_Meta):
    first: _Whole
    size: _Whole | None


class _Skipped(_Meta):
    path: _Text
    reason: str


class _Tracked(_Meta):
    run_id: str
    store: str
    version: str


class _Identity(_Meta):
    program: dict[str, Any] = {}


_VALUES: dict[str, TypeAdapter[Any]] = {
    "agenda": TypeAdapter(dict[str, _Whole]),
    "asked": TypeAdapter(_Whole),
    "compiled": TypeAdapter(dict[str, _State]),
    "configuration": TypeAdapter(_Configuration),
    "corpus": TypeAdapter(dict[str, _Whole]),
    "digest": TypeAdapter(str),
    "ending": TypeAdapter(str),
    "growth": TypeAdapter(list[_Asked]),
    "identity": TypeAdapter(_Identity),
    "lineage": TypeAdapter(Lineage),
    "mode": TypeAdapter(_Mode | None),
    "models": TypeAdapter(_Models),
    "shares": TypeAdapter(dict[str, _Whole]),
    "skipped": TypeAdapter(list[_Skipped]),
    "tracked": TypeAdapter(_Tracked),
}


def stored_meta(name: str, text: str) -> Any:
    """Return the value that is stored under a name, None if that is null.

    Raises:
        ValueError: it is not JSON, holds NaN or an infinite number, or is not what a run stores under that name.
        RecursionError: it is nested too deep.
    """
    return check_meta(name, json.loads(text))


def check_meta(name: str, value: Any) -> Any:
    """Return the metadata of a name if it is valid.

    Raises:
        ValueError: it holds NaN or an infinite number, or is not what a run stores under that name.
    """
    if check_numbers(value) is not None and name in _VALUES:
        _VALUES[name].validate_python(value)
    return value
