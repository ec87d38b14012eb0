"""Declaration, spelling and validation of options.

An option is a field of a pydantic model, declared by :func:`option`. The command line, its help, the parameters of
Python functions and the options of ``--config`` are made from it.

Messages spell an option as on the command line (`--chunk-size`), and whole commands in backquotes.
:func:`as_parameters` spells options as parameters (`chunk_size`) for Python callers.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from groundset import privacy
from groundset.sources import Url, is_url, source_of
from programs.errors import GroundsetError, InputError

DEFAULT_LM, DEFAULT_EMBEDDER, DEFAULT_PARSER = "qwen2.5-coder-0.5b", "all-minilm-l6-v2", "en-core-web-sm"
MAX_WORKERS = 256
ChunkerName = Literal["recursive", "sentence", "word", "token", "semantic"]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_PREFIX = re.compile(r"^(?:Value|Assertion) error, ")
_CHOICE = re.compile(r"'(.*?)'")
_REASONS = {  # messages by type of pydantic error; other messages are its own
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "extra_forbidden": "there is no such option",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "tuple_type": "must be a text or a list of texts",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
_SPELLED = re.compile(  # not inside paths
    r"(?P<command>`[^`]*`)|(?P<documents>(?<![\w/\\.-])DOCS(?![\w/\\.-]))"
    r"|(?<![\w-])--(?P<no>no-)?(?P<name>[a-z][a-z-]+)"
)


def option(
    default: Any,
    description: str,
    *,
    metavar: str | None = None,
    names: tuple[str, ...] = (),
    show_default: str | bool = True,
    argument: bool = False,
    only: Literal["command", "python"] | None = None,
    parameter: str | None = None,
    **limits: Any,
) -> Any:
    """Declare an option as a field of a pydantic model.

    Args:
        default: the default value; ``...`` for a required option.
        description: the help text.
        metavar: the placeholder of the value in the help; by default its type or choices.
        names: flags of the command line, if they do not follow from the name of the field.
        show_default: the text of the default in the help, if it is not the value.
        argument: whether it is a positional argument of the command.
        only: restricts the option to the command line or to Python.
        parameter: the name of the parameter, if it is not the name of the field.
        **limits: constraints of pydantic's ``Field``, such as ``ge``.
    """
    extra: dict[str, Any] = {
        "metavar": metavar,
        "names": names,
        "argument": argument,
        "only": only,
        "parameter": parameter,
    }
    return Field(default, description=description, json_schema_extra={**extra, "show_default": show_default}, **limits)


class CommandOptions(BaseModel):
    """The options of a command; the docstring of a subclass is the help of its command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Build the options from values by name; None means not given.

        Raises:
            InputError: an option is wrong; the message names it.
        """
        given = {name: value for name, value in values.items() if value is not None}
        try:
            return cls(**given)
        except ValidationError as error:
            arguments = [name for name, field in cls.model_fields.items() if _is_argument(field)]
            raise wrong_options(error, given, "", arguments=arguments) from error


class ChunkingOptions(BaseModel):
    """How documents are cut into chunks; in runs the defaults of ``merge`` and ``min_length`` depend on the recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chunker: ChunkerName = option("recursive", "How documents are cut.")
    chunk_size: int | None = option(
        None,
        "Size in characters (recursive, sentence, semantic), words (word) or tokens (token).",
        show_default="1000 characters, 200 words, 256 tokens",
        ge=1,
    )
    chunk_overlap: int = option(0, "Overlap of neighbouring chunks, in the same unit.", ge=0)
    merge: int | None = option(None, "Join this many consecutive chunks.", show_default="1; profiled: 3", ge=1)
    min_length: int | None = option(
        None, "Drop shorter chunks, in characters.", show_default="200; roundtrip: 100", ge=0
    )


class RecipeOption(NamedTuple):
    """An option of recipes: its field in the first recipe that has it, and the names of all that do."""

    field: FieldInfo
    owners: list[str]


def recipe_options() -> dict[str, RecipeOption]:
    """Return the options of all recipes by name."""
    from programs.recipes import RECIPES

    found: dict[str, RecipeOption] = {}
    for recipe in RECIPES.values():
        for name, field in recipe.options.model_fields.items():
            found.setdefault(name, RecipeOption(field, [])).owners.append(recipe.name)
    return found


def option_name(field: str) -> str:
    """Return the command-line name of a field."""
    return "DOCS" if field == "documents" else "--" + field.replace("_", "-")


def wrong_options(
    error: ValidationError,
    given: Mapping[str, Any],
    whole: str,
    file: Path | None = None,
    *,
    arguments: Collection[str] = (),
) -> InputError:
    """Build one error that lists all invalid options.

    Args:
        error: the errors of pydantic.
        given: the given options by name.
        whole: the prefix for errors that concern several options.
        file: the file of options that were not given.
        arguments: the options that are positional arguments.
    """
    return InputError("; ".join(_explain(item, given, whole, file, arguments) for item in error.errors()))


def reason_of(message: str) -> str:
    """Return a message of pydantic without its prefix."""
    return _PREFIX.sub("", message)


def _is_argument(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("argument"))


def _explain(error: Any, given: Mapping[str, Any], whole: str, file: Path | None, arguments: Collection[str]) -> str:
    reason = reason_of(error["msg"])
    reason = reason[:1].lower() + reason[1:]
    if not error["loc"]:
        return f"{whole}: {reason}" if whole else reason
    field = str(error["loc"][0])
    if template := _REASONS.get(error["type"]):
        limits = error.get("ctx", {}).items()
        reason = template.format(**{name: int(limit) if limit == int(limit) else limit for name, limit in limits})
    value = given.get(field, error["input"])
    if error["type"] == "literal_error":
        reason = f"choose one of {', '.join(_CHOICE.findall(error['ctx']['expected']))}"
    name = field.upper() if field in arguments and field != "documents" else option_name(field)
    where = name if field in given or file is None else f"--config {file}: {field.replace('_', '-')}"
    return f"{where} {value}: {reason}"


def paths_of(name: str, given: Any) -> tuple[Path, ...]:
    """Return the paths of an option, given as a path, a run or a list of them; ``~`` is the user's home.

    Raises:
        InputError: the value is not of these types, or a path is empty.
    """
    try:
        return tuple(Path(getattr(path, "folder", path)).expanduser() for path in _items(name, given))
    except TypeError as error:
        raise InputError(f"{option_name(name)} {given}: give a path, or a list of paths") from error


def sources_of(name: str, given: Any) -> tuple[Path | Url, ...]:
    """Return the paths and URLs of an option; see :func:`paths_of`.

    Raises:
        InputError: the value is not of these types, a path is empty, or a URL holds credentials.
    """
    return tuple(
        source_of(each) if isinstance(each, str) and is_url(each) else paths_of(name, each)[0]
        for each in _items(name, given)
    )


def _items(name: str, given: Any) -> list[Any]:
    try:
        items = [given] if isinstance(given, str | Path) or hasattr(given, "folder") else list(given)
    except TypeError as error:
        raise InputError(f"{option_name(name)} {given}: give a path, or a list of paths") from error
    if "" in items:
        raise InputError(f"{option_name(name)}: the path is empty; name a file or a folder")
    return items


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
    """Make a function part of the Python interface: set privacy defaults, and spell options as parameters in errors."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        privacy.set_defaults()
        try:
            return function(*args, **kwargs)
        except GroundsetError as error:
            error.args = (as_parameters(str(error)), *error.args[1:])
            raise

    return called
