"""Declaration of commands, and the command line and Python functions built from them.

A module of this folder with a row ``COMMAND`` is a command. Its options are the fields of a pydantic model, whose
docstring is the help. Output paths are validated with the options, before any work is done.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import typer
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from groundset.options import CommandOptions, as_parameters, for_python, option, paths_of, recipe_options, sources_of
from groundset.sources import Url

_Options = TypeVar("_Options", bound=CommandOptions)
_Result = TypeVar("_Result")
_WIDTH = 120
_METAVARS: Mapping[Any, str] = {int: "<int>", float: "<float>", bool: "<true|false>"}


class Parameter(NamedTuple):
    """An option as a parameter of a command or a function.

    Attributes:
        name: the name of its field.
        field: type, default and help.
        layered: whether a file of options may give it, so that its default is None.
        recipes: the recipes that have the option; empty for an option of the command.
    """

    name: str
    field: FieldInfo
    layered: bool = False
    recipes: Sequence[str] = ()

    @property
    def extra(self) -> dict[str, Any]:
        """Return the settings of :func:`groundset.options.option`."""
        return dict(self.field.json_schema_extra) if isinstance(self.field.json_schema_extra, dict) else {}

    @property
    def python_name(self) -> str:
        """Return the name of the parameter in Python and for Typer."""
        return str(self.extra.get("parameter") or self.name)

    @property
    def shown_default(self) -> str:
        """Return the default as text for the help; empty if it has none."""
        shown = self.extra.get("show_default", True)
        if isinstance(shown, str):
            return shown
        default = self.field.default
        if not shown or default in (None, "", (), PydanticUndefined):
            return "None" if self.recipes else ""
        if isinstance(default, dict):
            return ",".join(f"{name}={value}" for name, value in default.items())
        return str(default).lower() if isinstance(default, bool) else str(default)

    def for_command_line(self) -> inspect.Parameter:
        """Return the parameter for Typer; numbers, choices and URLs are parsed by the model."""
        kind, extra = _plain(self.field.annotation), self.extra
        choices = [str(choice) for choice in _members(kind) if isinstance(choice, str)]
        number = next((each for each in (int, float) if each in (kind, *get_args(kind))), None)
        several = get_origin(kind) is tuple
        if several:
            kind = list[str if _takes_urls(kind) else get_args(kind)[0]]  # type: ignore[misc]
        elif self.recipes or choices or number or _takes_urls(kind):
            kind = str
        metavar = extra.get("metavar") or (f"<{'|'.join(choices)}>" if choices else None)
        metavar = metavar or _METAVARS.get(number or (self.recipes and self.field.annotation))
        shared: dict[str, Any] = {"metavar": metavar, "help": self.field.description}
        if self.recipes:
            shared["rich_help_panel"] = f"Options of {', '.join(self.recipes)}"
        required = self.field.is_required() and not self.layered
        default = inspect.Parameter.empty if required else self.field.default
        if self.layered or (several and not required):
            kind, default = kind | None, None
        elif choices and default is None:
            kind = str | None
        info: Any
        if extra.get("argument"):
            info = typer.Argument(**shared, show_default=False)
        else:
            shown: str | bool = extra.get("show_default", True)
            if self.layered:
                shown = self.shown_default or False
            info = typer.Option(*self._flags(), **shared, show_default=False if required else shown)
        return inspect.Parameter(
            self.python_name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
        )

    def for_python(self, positional: bool) -> inspect.Parameter:
        """Return the parameter of a function for Python."""
        kind: Any = _plain(self.field.annotation)
        default = inspect.Parameter.empty if self.field.is_required() else self.field.default
        if self.layered and not self.extra.get("argument"):
            kind, default = kind | None, None
        place = inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.python_name, place, default=default, annotation=kind)

    def _flags(self) -> list[str]:
        flag = "--" + self.name.replace("_", "-")
        is_switch = self.field.annotation is bool and self.field.default is True and not self.layered
        if is_switch or self.field.annotation == bool | None:
            flag = f"{flag}/--no-{flag[2:]}"
        names = list(self.extra.get("names") or ())
        return names if names and names[0].startswith("--") else [flag, *names]


@dataclass(frozen=True)
class Command:
    """One row of the table of commands.

    Attributes:
        name: its name on the command line.
        options: the model of its options; the docstring is its help.
        run: runs it and prints the result.
        rank: its position in the list of commands.
        parameters: returns its parameters, if they are not the fields of ``options``. Called with ``with_recipes``;
            ``run`` then receives all values by name.
    """

    name: str
    options: type[CommandOptions]
    run: Callable[..., None]
    rank: int
    parameters: Callable[[bool], Iterable[Parameter]] | None = None

    def for_typer(self, *, with_recipes: bool) -> Callable[..., None]:
        """Build the function that Typer registers."""

        def called(**values: Any) -> None:
            self.run(self.options.parse(values) if self.parameters is None else values)

        found = self.parameters(with_recipes) if self.parameters else parameters_of(self.options)
        signature = [each.for_command_line() for each in found if each.extra.get("only") != "python"]
        called.__name__, called.__doc__ = self.name, self.options.__doc__
        called.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in signature}
        return called


def parameters_of(options: type[BaseModel], *, without: Collection[str] = (), layered: bool = False) -> list[Parameter]:
    """Return the fields of a model that have a description."""
    fields = options.model_fields.items()
    return [Parameter(name, field, layered) for name, field in fields if field.description and name not in without]


def recipe_parameters() -> list[Parameter]:
    """Return the options of all recipes."""
    return [Parameter(name, found.field, True, found.owners) for name, found in recipe_options().items()]


def describe(parameters: Iterable[Parameter]) -> str:
    """Return the ``Args`` section of a docstring."""
    lines = ["    Args:"]
    for each in parameters:
        default = f" Default: {each.shown_default}." if each.shown_default else ""
        owners = f"Of {', '.join(each.recipes)}: " if each.recipes else ""
        text = as_parameters(f"{each.python_name}: {owners}{each.field.description}{default}")
        lines.append(fill(text, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12))
    return "\n".join(lines)


def takes_options(
    options: type[_Options], *positional: str
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Let a function with an options model as its last argument be called with keyword arguments.

    Signature and docstring are made from the model. For a method of a run, ``run`` is the folder of the run.

    Args:
        options: the model.
        *positional: the options that can be given by position.
    """

    def decorate(function: Callable[..., _Result]) -> Callable[..., _Result]:
        *own, _ = inspect.signature(function).parameters.values()
        is_method = bool(own) and own[0].name == "self"
        found = parameters_of(options, without=("run",) if is_method else ())
        shown = [each for each in found if each.extra.get("only") != "command"]
        shown.sort(key=lambda each: positional.index(each.name) if each.name in positional else len(positional))
        signature = inspect.Signature([*own, *(each.for_python(each.name in positional) for each in shown)])

        @for_python
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> _Result:
            values = signature.bind(*args, **kwargs).arguments
            given = [values[parameter.name] for parameter in own]
            fixed = {"run": given[0].folder} if is_method else {}
            return function(*given, options.parse({**fixed, **as_values(shown, values)}))

        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__doc__ = with_arguments(str(function.__doc__), shown)
        return called

    return decorate


def as_values(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return option values from Python arguments; see :func:`groundset.options.paths_of` for paths."""
    found: dict[str, Any] = {}
    for each in parameters:
        value = values.get(each.python_name)
        if value is None:
            continue
        kind = _plain(each.field.annotation)
        if _takes_urls(kind):
            sources = sources_of(each.name, value)
            found[each.name] = sources if get_origin(kind) is tuple else sources[0]
        elif get_origin(kind) is tuple and each.extra.get("argument"):
            found[each.name] = paths_of(each.name, value)
        elif Path in (kind, *get_args(kind)):
            (found[each.name],) = paths_of(each.name, value)
        else:
            found[each.name] = str(value) if isinstance(value, Path) else value
    return found


def with_arguments(text: str, parameters: Iterable[Parameter]) -> str:
    """Insert an ``Args`` section into a docstring, before ``Raises``."""
    before, mark, after = text.partition("Raises:")
    end = f"\n\n    {mark}{after.rstrip()}" if mark else ""
    return f"{before.rstrip()}\n\n{describe(parameters)}{end}\n    "


def _plain(kind: Any) -> Any:
    """Return a type without pydantic's annotations."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_plain, get_args(kind)))]  # noqa: UP007 - made at run time
    return kind


def _takes_urls(kind: Any) -> bool:
    """Return whether the values of a type, without pydantic's annotations, can be URLs."""
    return Url in get_args(kind) or (get_origin(kind) is tuple and Url in get_args(_plain(get_args(kind)[0])))


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the values of a ``Literal``, also inside a union."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(value for part in get_args(kind) for value in _members(part))


def _new_run(folder: Path) -> Path:
    from groundset.store.folder import check_free

    check_free(folder)
    return folder


def _new_folder(folder: Path) -> Path:
    from groundset.folders import check_folder

    check_folder(folder)
    return folder


def _new_file(file: Path) -> Path:
    from groundset.files import check_target

    check_target(file)
    return file


RunFolder = Annotated[Path, option(..., "The folder of a run.", metavar="RUN", argument=True)]
NewRun = Annotated[Path, AfterValidator(_new_run), option(..., "The folder of the new run.", metavar="RUN")]
NewFolder = Annotated[Path, AfterValidator(_new_folder)]
NewFile = Annotated[Path, AfterValidator(_new_file)]
Tracking = Annotated[
    str | None,
    option(
        None,
        "The MLflow store; MLFLOW_TRACKING_URI overrides it.",
        metavar="URI|FOLDER",
        show_default="mlruns/ in this folder if it exists, else one for all projects",
    ),
]
Embedder = Annotated[str, option("all-minilm-l6-v2", "The embedding model.", metavar="MODEL")]
Engine = Annotated[
    str,
    option(
        "local",
        "Where documents and chunks are processed: local (processes of this machine), ray (a Ray cluster started on "
        "it) or ray=ADDRESS. The result is the same.",
        metavar="ENGINE",
    ),
]
Json = Annotated[bool, option(False, "Print one JSON document.", names=("--json",), only="command")]
Quiet = Annotated[bool, option(False, "Print only errors.", names=("-q",))]
Signed = Annotated[bool, option(False, "Only samples that a reviewer signed.")]
Critic = Annotated[
    str,
    option(
        ...,
        "The critic: head (fast, without a language model), lm, ensemble (of both) or verdict (a language model that "
        "gives reasons).",
        metavar="NAME",
    ),
]
Compiled = Annotated[str, option("shipped", "Compiled states: shipped, champion, none, or a folder.", metavar="WHICH")]
