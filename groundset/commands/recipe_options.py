"""The options of recipes on the command line: made from the table of recipes, so that a new one needs nothing here."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer
from pydantic.fields import FieldInfo

from groundset.options import recipe_options

_REST = inspect.Parameter.VAR_KEYWORD


def with_recipe_options(command: Callable[..., None], *, all_options: bool) -> Callable[..., None]:
    """Return a command whose ``**options`` are those of every recipe, as text; each says whose it is.

    Without ``all_options`` it takes none of them, and no recipe is imported.
    """
    signature = inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not _REST]
    added = _parameters() if all_options else []

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(**given)

    wrapped.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    return wrapped


def _parameters() -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, _option(option.field, option.owners)],
        )
        for name, option in recipe_options().items()
    ]


def _option(field: FieldInfo, owners: list[str]) -> Any:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    choices = [str(choice) for choice in get_args(field.annotation) if isinstance(choice, str)]
    types: dict[Any, str] = {int: "<int>", float: "<float>", bool: "<true|false>"}
    metavar = extra.get("metavar") or ("<" + "|".join(choices) + ">" if choices else types.get(field.annotation))
    shown = _shown(field.default)
    return typer.Option(
        metavar=str(metavar) if metavar else None,
        help=f"Of {', '.join(owners)}: {field.description}",
        show_default=shown or False,
    )


def _shown(default: Any) -> str:
    if isinstance(default, dict):
        return ",".join(f"{name}={value}" for name, value in default.items())
    return str(default).lower() if isinstance(default, bool) else str(default)
