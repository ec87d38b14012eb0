"""Options of recipes that mix evolutions, with the personas and queries that questions are reworded with."""

import hashlib
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from programs.errors import InputError
from programs.evolutions import EVOLUTIONS
from programs.modes import Mode
from programs.recipes.base import AnsweredOptions
from programs.recipes.mix import parse_mix, quotas
from programs.untrusted import MAX_ROW, small_text

SIMPLE = "simple"
_USERS = {"personas": "persona", "like": "like"}  # the evolution that uses an option
_SHARE = 1 / 3  # its weight without a mix, relative to the default mix
_MOST_LINES, _LONGEST = 10_000, 1_000  # lines of a file, characters of a line
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def is_text_file(value: str) -> bool:
    """Return whether a value of ``--personas`` names a file."""
    return value.casefold().endswith(".txt")


def _read_personas(value: Any, info: ValidationInfo) -> Any:
    """Return personas, those in text files among them; other types are left to the field."""
    given = [value] if isinstance(value, str | Path) else value
    if not isinstance(given, list | tuple) or not all(isinstance(each, str | Path) for each in given):
        return value
    read = [_lines(each, info) if is_text_file(str(each)) else [_checked(str(each), info)] for each in given]
    return tuple(dict.fromkeys(chain(*read)))


def _read_queries(value: Any, info: ValidationInfo) -> Any:
    """Return the queries in a text file; a list holds the queries themselves; other types are left to the field."""
    if isinstance(value, str | Path):
        return tuple(_lines(value, info))
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return value
    return tuple(dict.fromkeys(_checked(each, info) for each in value)) or None


def _lines(name: str | Path, info: ValidationInfo) -> list[str]:
    """Return the distinct lines of a text file that are not blank."""
    option = f"--{info.field_name}"
    try:
        text = small_text(Path(name).expanduser(), MAX_ROW)
    except InputError as error:
        raise InputError(f"{option} {error}") from error
    except OSError as error:
        raise InputError(f"{option} {name}: {error.strerror or error}") from error
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        raise InputError(f"{option} {name}: is empty; write one text a line")
    if len(numbered) > _MOST_LINES:
        raise InputError(f"{option} {name}: more than {_MOST_LINES:,} lines; give a sample of them")
    return list(dict.fromkeys(_checked(line, info, f"{name}, line {number}") for number, line in numbered))


def _checked(text: str, info: ValidationInfo, where: str = "") -> str:
    """Return a text without surplus white space."""
    text, where = " ".join(text.split()), f"--{info.field_name} {where or repr(text[:40])}"
    if not text:
        raise InputError(f"{where}: is empty")
    if len(text) > _LONGEST:
        raise InputError(f"{where}: longer than {_LONGEST:,} characters")
    if _CONTROL.search(text):
        raise InputError(f"{where}: not plain text")
    return text


class MixedOptions(AnsweredOptions):
    """The options of recipes that mix evolutions.

    ``makes`` is the only evolution of a recipe that mixes it with rewordings of its questions.
    """

    makes: ClassVar[str] = ""

    mix: Annotated[dict[str, float], BeforeValidator(parse_mix)] = Field(
        default={},
        description=f"Evolutions, by weight: {', '.join(EVOLUTIONS)}. Available evolutions and the default depend on "
        "the mode; single mixes simple, and multi multi_context, only with those that reword a question.",
        json_schema_extra={"metavar": "EVOLUTION=WEIGHT,..."},
    )
    personas: Annotated[tuple[str, ...], BeforeValidator(_read_personas)] = Field(
        default=(),
        description="Who asks, for the evolution persona, such as 'a nurse on her first night shift': a text or a .txt "
        "file with one a line; can be repeated.",
        json_schema_extra={"metavar": "TEXT|FILE", "show_default": "eight for any documents"},
    )
    like: Annotated[tuple[str, ...] | None, BeforeValidator(_read_queries)] = Field(
        default=None,
        description="A text file of your own queries, one a line, as examples of style for the evolution like.",
        json_schema_extra={"metavar": "FILE"},
    )

    @field_validator("mix")
    @classmethod
    def _check_mix(cls, value: dict[str, float]) -> dict[str, float]:
        if unknown := [name for name in value if name not in EVOLUTIONS]:
            raise ValueError(f"no evolution is called {unknown[0]!r}; there are {', '.join(EVOLUTIONS)}")
        if any(not 0 <= weight < float("inf") for weight in value.values()) or (value and not sum(value.values())):
            raise ValueError("weights must be 0 or more, and one of them above 0")
        return value

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with the mix of a mode; see :meth:`Options.in_mode`.

        Without a mix, ``like`` and ``personas`` add their evolution to the default mix.
        """
        known = [name for name in EVOLUTIONS if name == self.makes or EVOLUTIONS[name].rewords]
        known = known if self.makes else list(mode.evolutions)
        if missing := [name for name, weight in self.mix.items() if weight and name not in known]:
            raise ValueError(f"--mix: there is no {missing[0]} in mode {mode.name}; there are {', '.join(known)}")
        default = {self.makes: 1.0} if self.makes else dict(mode.mix)
        used = {user: _SHARE * sum(default.values()) for option, user in _USERS.items() if getattr(self, option)}
        mix = self.mix or default | used
        if unused := [option for option, user in _USERS.items() if getattr(self, option) and not mix.get(user)]:
            raise ValueError(f"--{unused[0]}: add {_USERS[unused[0]]}=WEIGHT to --mix, or omit one of both")
        if mix.get("like") and not self.like:
            raise ValueError("--mix like: name a text file of your own queries with --like FILE")
        return super().in_mode(mode).model_copy(update={"mix": mix})

    def compared(self) -> dict[str, Any]:
        """Return the options that must stay the same; of the mix, only the ratios, of texts their hash."""
        total = sum(self.mix.values()) or 1
        shares = {name: round(self.mix[name] / total, 6) for name in EVOLUTIONS if self.mix.get(name)}
        return {**super().compared(), "mix": shares, **{option: _digest(getattr(self, option)) for option in _USERS}}

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the evolutions of the mix with a weight above 0."""
        return tuple(name for name, weight in self.mix.items() if weight)

    def quotas(self, size: int) -> dict[str, int]:
        """Return how many samples of each evolution of the mix a set of some size has, the simplest evolution first."""
        mix = self.mix or {self.makes or SIMPLE: 1.0}
        shares = quotas(size, {name: mix[name] for name in EVOLUTIONS if mix.get(name)})
        return {name: share for name, share in shares.items() if share}


def _digest(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Return how texts are named in messages, and their hash."""
    if not texts:
        return None
    return {"name": f"of {len(texts)} lines", "sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest()}
