"""`groundset models list`: list the models of the catalogue and the cache."""

from typing import NamedTuple

from groundset.commands.declare import Command, Json
from groundset.commands.output.tables import print_json, print_table
from groundset.models.cache import is_cached
from groundset.models.catalogue import CATALOGUE, ModelEntry
from groundset.models.download import human_size
from groundset.models.hub import HubRecord, HubSpec, fetched_files
from groundset.options import CommandOptions


class _Listed(NamedTuple):
    """A row of the list; the licence of a Hub file is only on its page."""

    name: str
    role: str
    size: int
    licence: str | None
    cached: bool
    note: str


class ModelsListOptions(CommandOptions):
    """List the catalogue and what was fetched from the Hugging Face Hub by name: role, size, licence, what is here."""

    as_json: Json


def list_models(options: ModelsListOptions) -> None:
    """Print the models."""
    listed = [*map(_of_the_catalogue, CATALOGUE.values()), *(_of_the_hub(*each) for each in fetched_files())]
    if options.as_json:
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


def _of_the_catalogue(entry: ModelEntry) -> _Listed:
    return _Listed(entry.name, entry.role, entry.size, entry.licence, is_cached(entry), entry.note)


def _of_the_hub(spec: HubSpec, record: HubRecord) -> _Listed:
    is_here = spec.path.is_file() and spec.path.stat().st_size == record.size
    note = f"from the Hub, commit {record.commit[:12]}, SHA-256 {record.sha256[:16]}"
    return _Listed(spec.name, "generator", record.size, None, is_here, note)


COMMAND = Command("models list", ModelsListOptions, list_models, rank=22)
