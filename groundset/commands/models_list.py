"""`groundset models list`: list models."""

from typing import NamedTuple

from groundset.commands.declare import Command, Json
from groundset.commands.output.tables import print_json, print_table
from groundset.models.cache import is_cached
from groundset.models.catalogue import CATALOGUE, ModelEntry
from groundset.models.download import human_size
from groundset.models.hub import HubRecord, HubSpec, fetched_files
from groundset.options import CommandOptions


class _ModelRow(NamedTuple):
    """A row of the list; the licence of a Hub file is unknown."""

    name: str
    role: str
    size: int
    licence: str | None
    cached: bool
    note: str


class ModelsListOptions(CommandOptions):
    """List the models of the catalogue and those downloaded from the Hugging Face Hub by name."""

    as_json: Json


def list_models(options: ModelsListOptions) -> None:
    """Print the models."""
    rows = [*map(_catalogue_row, CATALOGUE.values()), *(_hub_row(*each) for each in fetched_files())]
    if options.as_json:
        print_json({"models": [row._asdict() for row in rows]})
        return
    print_table(
        _ModelRow._fields,
        [
            (
                row.name,
                row.role,
                human_size(row.size),
                row.licence or "see its page",
                "yes" if row.cached else "no",
                row.note,
            )
            for row in rows
        ],
    )


def _catalogue_row(entry: ModelEntry) -> _ModelRow:
    return _ModelRow(entry.name, entry.role, entry.size, entry.licence, is_cached(entry), entry.note)


def _hub_row(spec: HubSpec, record: HubRecord) -> _ModelRow:
    cached = spec.path.is_file() and spec.path.stat().st_size == record.size
    note = f"from the Hub, commit {record.commit[:12]}, SHA-256 {record.sha256[:16]}"
    return _ModelRow(spec.name, "generator", record.size, None, cached, note)


COMMAND = Command("models list", ModelsListOptions, list_models, rank=22)
