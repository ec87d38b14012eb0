"""Options: each is one field of a pydantic model, from which command line, help and Python
parameters are made.

Messages spell an option as on the command line (``--chunk-size``); :func:`for_python` spells it as
a parameter.
"""

import difflib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Literal, ParamSpec, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from groundset import privacy
from groundset.programs.errors import GroundsetError, InputError

DEFAULT_LM, DEFAULT_EMBEDDER, DEFAULT_PARSER = (
    "qwen2.5-coder-0.5b",
    "all-minilm-l6-v2",
    "en-core-web-sm",
)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_LARGEST = 1 << 63
_SHOWN = 200  # characters of a wrong value
_SPELLED = re.compile(r"(?P<command>`[^`]*`)|(?<![\w-])--(?P<no>no-)?(?P<name>[a-z][a-z-]+)")


# What is known of an option beside its type and text, with the defaults.
_FACTS: Mapping[str, Any] = {
    "metavar": None,  # the placeholder of the value in the help; by default its type or choices
    "short": None,  # a one-letter flag, such as ``-q``
    "shown": None,  # the text of the default in the help, if it is not the value
    "argument": False,  # it is a positional argument of the command
    "command_only": False,  # Python has no such parameter
    "free": False,  # it may change when a run goes on, or is compared by the content it names
    "cuts": False,  # it says how documents are cut
    "guided": True,  # guided models can do it, too
    "private": False,  # it holds texts or places of the user, which are not published
}


def option(
    default: Any,  # ``...`` for a required option
    description: str,  # the help text
    **facts: Any,  # of :data:`_FACTS`, and constraints of pydantic's ``Field``, such as ``ge``
) -> Any:
    """Declare an option as a field of a pydantic model."""
    known = {name: facts.pop(name, usual) for name, usual in _FACTS.items()}
    return Field(default, description=description, json_schema_extra=known, **facts)


# Options of several commands.
RUN = option(..., "The folder of a run.", metavar="RUN", argument=True)
AS_JSON = option(False, "Print one JSON document.", command_only=True)
QUIET = option(False, "Show no progress.", short="-q", free=True)


def facts_of(field: FieldInfo) -> dict[str, Any]:
    """Return what is known of an option."""
    facts: Any = field.json_schema_extra
    return dict(facts)


class Options(BaseModel):
    """The options of a command; the docstring of a subclass is the help of its command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: Any, info: ValidationInfo) -> Any:
        """Take one value for several, a run for its folder, and ``~`` for the user's home."""
        types = set(value_types(cls.model_fields[str(info.field_name)].annotation))
        # As a path, an address would lose a slash.
        read = _path if Path in types and str not in types else _storable
        if tuple not in types:
            return read(value)
        is_one = isinstance(value, str | Path) or hasattr(value, "folder")
        return tuple(map(read, [value] if is_one else value))

    @classmethod
    def with_fact(cls, fact: str, value: bool = True) -> set[str]:
        """Return the names of the options that have a fact."""
        return {name for name, each in cls.model_fields.items() if facts_of(each)[fact] == value}

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Build the options from values by name; None means not given.

        Raises:
            InputError: an option is wrong; the message names every wrong one.
        """
        given = {name: value for name, value in values.items() if value is not None}
        try:
            return cls(**given)
        except ValidationError as error:
            raise InputError(
                "; ".join(cls._explain(item, given) for item in error.errors())
            ) from error

    @classmethod
    def _explain(cls, error: Any, given: Mapping[str, Any]) -> str:
        reason = str(error["msg"]).removeprefix("Value error, ")
        reason = reason[:1].lower() + reason[1:]
        if not error["loc"]:
            return reason
        name = str(error["loc"][0])
        value = f" {given[name]}" if name in given else ""
        more = "…" * (len(value) > _SHOWN)
        return f"{option_name(cls, name)}{value[:_SHOWN]}{more}: {reason}"


def _storable(value: Any) -> Any:
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("does not fit 64 bits")
    return value


def _path(value: Any) -> Any:
    if not getattr(value, "is_saved", True):
        raise ValueError(
            f"the samples of {value.folder} that were filtered are not saved; call its"
            " save(FOLDER) first"
        )
    value = getattr(value, "folder", value)
    if not isinstance(value, str | Path):
        return value
    if not str(value) or {"\0", "\r"} & set(str(value)):
        raise ValueError("a path must not be empty, nor contain a carriage return or NUL")
    return Path(value).expanduser()


class Name(str):
    """The name of an object that was given in Python, with the object."""

    given: Any = None


def named(value: Any) -> str:
    """Return a text as it is, and of anything else its name: ``module:name``, of a language model
    ``provider/model``.

    Raises:
        ValueError: there is none.
    """
    if not value and isinstance(value, str | None):
        raise ValueError("must not be empty")
    if isinstance(value, str):
        return value
    owner = value if hasattr(value, "__qualname__") else type(value)
    is_model = hasattr(value, "infer_provider")  # of DSPy, which is not imported for that
    name = Name(value.model if is_model else f"{owner.__module__}:{owner.__qualname__}")
    name.given = value
    return name


# An option whose value has a name, ``package.module:name`` if it is the user's own; Python also
# takes the object itself, whose type stands beside it for type checkers.
Named = Annotated[str, PlainValidator(named)]
LM = Annotated[Named, "dspy.LM"]
Module = Annotated[Named, "dspy.Module", "type[dspy.Module]"]


def is_own(name: str) -> bool:
    """Return whether a name is that of something of the user, in Python or in a module."""
    return isinstance(name, Name) or ":" in name


def imported(name: str, flag: str) -> Any:
    """Return what a user's name stands for; modules are found from the working folder, too.

    Raises:
        InputError: it cannot be imported.
    """
    if isinstance(name, Name):
        return name.given
    sys.path += [] if os.getcwd() in sys.path else [os.getcwd()]  # noqa: PTH109
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"{flag} {name}: cannot be imported ({error}); write package.module:name, and start"
            " where the package lies"
        ) from error


def option_name(options: type[BaseModel], name: str) -> str:
    """Return the spelling of a field on the command line: ``--chunk-size``, ``DOCS`` for an
    argument.

    ``as_json`` is ``--json``, because pydantic's models have an attribute ``json``.
    """
    field = options.model_fields.get(name)
    is_argument = field and facts_of(field)["argument"]
    return name.upper() if is_argument else "--" + name.removeprefix("as_").replace("_", "-")


def near_matches(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean …?)`` for known names that resemble one, or an empty text."""
    matches = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""


def value_types(annotation: Any) -> Iterator[Any]:
    """Yield the types that a field's values can have, ``tuple`` if it takes several, and the texts
    of a ``Literal``.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from parts
    elif origin not in (Annotated, Union, UnionType, tuple):
        yield annotation
    else:
        yield from [tuple] if origin is tuple else []
        for part in parts[:1] if origin is Annotated else parts:
            yield from value_types(part)


def for_python(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function part of the Python interface: set privacy defaults, and spell options as
    parameters in errors.
    """

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        privacy.set_defaults()
        try:
            return function(*args, **kwargs)
        except GroundsetError as error:
            error.args = (as_parameters(str(error)), *error.args[1:])
            raise

    return called


def as_parameters(text: str) -> str:
    """Return a message with options spelled as parameters: ``--chunk-size`` is ``chunk_size``."""

    def spell(found: re.Match[str]) -> str:
        return found["command"] or found["name"].replace("-", "_") + (
            "=False" if found["no"] else ""
        )

    return _SPELLED.sub(spell, text)
