"""Profiles of questions: one value of each of some dimensions, which users can define in a JSON file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from programs.errors import InputError
from programs.untrusted import small_text

_MOST = 1 << 20  # bytes of a file
_MAX_NAME, _MAX_DESCRIPTION = 60, 1_000  # characters
_RESERVED = frozenset(":|=;\n")  # they separate dimensions and values in what models write
_Value = TypeVar("_Value")
Profile = Mapping[str, str]
"""The value of each dimension."""


def _check_name(name: str) -> str:
    if not name or name != name.strip() or _RESERVED & set(name):
        raise ValueError(
            "a name must not be empty, begin or end with a space, nor contain a line break or one of : | = ;"
        )
    return name


def _check_description(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return " ".join(text.split())


_Name = Annotated[str, Field(max_length=_MAX_NAME), AfterValidator(_check_name)]
_Named = Annotated[dict[_Name, _Value], Field(min_length=1)]
_Description = Annotated[str, Field(max_length=_MAX_DESCRIPTION), AfterValidator(_check_description)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProfileValue(_Strict):
    """A value of a dimension.

    ``passages`` declares how many passages the answer needs, where the value says so.
    """

    description: _Description
    passages: Literal["one", "several"] | None = None


class ProfileDimension(_Strict):
    """A dimension of profiles, with its values by name."""

    description: _Description
    values: _Named[ProfileValue]


class ProfileTable(_Strict):
    """The dimensions that profiles consist of, by name."""

    parameters: _Named[ProfileDimension]

    def as_text(self) -> str:
        """Return all dimensions and values with their descriptions, as prompts show them."""
        lines = []
        for name, dimension in self.parameters.items():
            lines.append(f"{name}: {dimension.description}")
            lines += [f"- {value}: {each.description}" for value, each in dimension.values.items()]
        return "\n".join(lines)

    def form(self) -> str:
        """Return the form in which models write a profile."""
        return " | ".join(f"{name}: …" for name in self.parameters)

    def describe(self, profile: Profile) -> str:
        """Return a profile with the descriptions of its values, as prompts show it."""
        return "\n".join(
            f"{name}: {value} ({self.parameters[name].values[value].description})" for name, value in profile.items()
        )

    def for_passages(self, profile: Profile, count: int) -> Profile:
        """Return a profile that is true of a question whose answer needs ``count`` passages.

        A value that declares another number is replaced by the nearest value of its dimension that declares this one.
        """
        number = "one" if count == 1 else "several"
        return {name: self._nearest(self.parameters[name].values, value, number) for name, value in profile.items()}

    @staticmethod
    def _nearest(values: Mapping[str, ProfileValue], value: str, number: str) -> str:
        names = list(values)
        matching = [name for name in names if values[name].passages == number]
        if values[value].passages in (None, number) or not matching:
            return value
        return min(matching, key=lambda name: abs(names.index(name) - names.index(value)))


def read_profiles(file: Path) -> ProfileTable:
    """Read the dimensions of profiles from a JSON file.

    Raises:
        InputError: the file cannot be read or is invalid; the message names the file and the key.
    """
    try:
        return ProfileTable.model_validate(json.loads(small_text(file, _MOST)))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{file}: not valid JSON ({error})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"] if part != "[key]")
        message = {"extra_forbidden": "unknown key", "missing": "missing", "too_short": "must not be empty"}.get(
            first["type"], str(first["msg"]).removeprefix("Value error, ")
        )
        raise InputError(f"{file}: {key or 'the file'}: {message[:1].lower()}{message[1:]}") from error
