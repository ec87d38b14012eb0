"""Options by name: as the command line spells them, as Python does, and what to say of a wrong one.

Messages spell an option as the command line does (`--chunk-size`), and put whole commands into backquotes. Whoever is
called from Python has them spelled as parameters (`chunk_size`) by :func:`as_parameters`, so that each is written once.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from groundset import privacy
from programs.errors import GroundsetError, InputError

DEFAULT_LM, DEFAULT_EMBEDDER, DEFAULT_PARSER = "qwen2.5-coder-0.5b", "all-minilm-l6-v2", "en-core-web-sm"
_P = ParamSpec("_P")
_R = TypeVar("_R")
_PREFIX = re.compile(r"^(?:Value|Assertion) error, ")
_CHOICE = re.compile(r"'(.*?)'")
_SPELLED = re.compile(  # what is a part of a path is the user's
    r"(?P<command>`[^`]*`)|(?P<documents>(?<![\w/\\.-])DOCS(?![\w/\\.-]))"
    r"|(?<![\w-])--(?P<no>no-)?(?P<name>[a-z][a-z-]+)"
)


class RecipeOption(NamedTuple):
    """An option of recipes: its field in the first one that has it, and the names of all that have."""

    field: FieldInfo
    owners: list[str]


def recipe_options() -> dict[str, RecipeOption]:
    """Return the options of all recipes by name, in the order of the table."""
    from programs.recipes import RECIPES

    found: dict[str, RecipeOption] = {}
    for recipe in RECIPES.values():
        for name, field in recipe.options.model_fields.items():
            found.setdefault(name, RecipeOption(field, [])).owners.append(recipe.name)
    return found


def option_name(field: str) -> str:
    """Return how the command line calls a field of the configuration."""
    return "DOCS" if field == "documents" else "--" + field.replace("_", "-")


def wrong_options(error: ValidationError, given: Mapping[str, Any], whole: str, file: Path | None = None) -> InputError:
    """Return all that is wrong with options as one error.

    Args:
        error: what Pydantic found.
        given: the options that were given, by name.
        whole: what to name where several options do not go together.
        file: where the options that were not given come from.
    """
    return InputError("; ".join(_explain(item, given, whole, file) for item in error.errors()))


def reason_of(message: str) -> str:
    """Return a message of Pydantic without what it puts before that of a validator."""
    return _PREFIX.sub("", message)


def _explain(error: Any, given: Mapping[str, Any], whole: str, file: Path | None) -> str:
    place = [str(part) for part in error["loc"]]
    reason = reason_of(error["msg"])
    reason = reason[:1].lower() + reason[1:]
    if not place:
        return f"{whole}: {reason}"
    field = place[0]
    value = given.get(field, error["input"])
    if error["type"] == "literal_error":
        reason = f"there is no such {field}; choose one of {', '.join(_CHOICE.findall(error['ctx']['expected']))}"
    where = option_name(field) if field in given or file is None else f"--config {file}: {field.replace('_', '-')}"
    return f"{where} {value}: {reason}"


def paths_of(name: str, given: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    """Return what an option names as paths: one, or several; ``~`` is the user's home.

    Raises:
        InputError: it is nothing of the kind.
    """
    try:
        several = [given] if isinstance(given, str | Path) else list(given)
        if "" in several:
            raise InputError(f"{option_name(name)}: the path is empty; name a file or a folder")
        return tuple(Path(path).expanduser() for path in several)
    except TypeError as error:
        raise InputError(f"{option_name(name)} {given}: give a path, or a list of paths") from error


def as_parameters(text: str) -> str:
    """Return a message with options spelled as parameters: ``--chunk-size`` is ``chunk_size``."""

    def spell(found: re.Match[str]) -> str:
        if found["command"]:
            return found["command"]
        if found["documents"]:
            return "docs"
        return found["name"].replace("-", "_") + ("=False" if found["no"] else "")

    return _SPELLED.sub(spell, text)


def for_python(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function a part of what is called from Python: privacy first, and errors that name parameters."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        privacy.set_defaults()
        try:
            return function(*args, **kwargs)
        except GroundsetError as error:
            error.args = (as_parameters(str(error)), *error.args[1:])
            raise

    return called
