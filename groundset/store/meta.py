"""The metadata of a run: every value is validated when it is read.

Unknown keys are allowed, and most keys may be missing.
"""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, StrictInt, TypeAdapter

from groundset.store.lineage import Lineage
from programs.numbers import MOST, check_numbers

_Text = InstanceOf[str]  # paths may contain lone surrogates, which pydantic's str rejects
_Whole = Annotated[StrictInt, Field(ge=0, lt=MOST)]
_Amount = Annotated[float, Field(ge=0)]
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
    lm: _Text | list[_Text] | None = None
    critic_lm: _Text | list[_Text] | None = None
    embedder: _Text | None = None
    parser: _Text | None = None
    chunker: str | None = None
    ask: str | None = None
    size: _Whole | None = None
    max_rank: _Whole | None = None


class _Mode(_Meta):
    name: str
    why: str


class _Language(_Meta):
    code: str
    chunks: _Whole | None = None
    file: _Text | None = None
    adapted: _Whole = 0
    english: _Whole = 0
    prompts: str | None = None


class _Request(_Meta):
    first: _Whole
    size: _Whole | None


class _Skipped(_Meta):
    path: _Text
    reason: str


class _Search(_Meta):
    index: str
    rows: _Whole
    exact: bool
    recall_at_10: _Share
    queries: _Whole


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
    "growth": TypeAdapter(list[_Request]),
    "identity": TypeAdapter(_Identity),
    "language": TypeAdapter(_Language | None),
    "lineage": TypeAdapter(Lineage),
    "mode": TypeAdapter(_Mode | None),
    "models": TypeAdapter(_Models),
    "price": TypeAdapter(tuple[_Amount, _Amount]),
    "search": TypeAdapter(_Search | None),
    "shares": TypeAdapter(dict[str, _Whole]),
    "skipped": TypeAdapter(list[_Skipped]),
    "tracked": TypeAdapter(_Tracked),
}


def stored_meta(name: str, text: str) -> Any:
    """Parse and validate a stored value.

    Raises:
        ValueError: it is not JSON, or is invalid; see :func:`check_meta`.
        RecursionError: it is nested too deep.
    """
    return check_meta(name, json.loads(text))


def check_meta(name: str, value: Any) -> Any:
    """Validate and return the metadata of a name.

    Raises:
        ValueError: it holds NaN or an infinite number, or has the wrong type.
    """
    if check_numbers(value) is not None and name in _VALUES:
        _VALUES[name].validate_python(value)
    return value
