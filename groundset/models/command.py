"""`groundset models list` and `groundset models pull`."""

from groundset.files import json_text
from groundset.models import hub
from groundset.models.catalogue import CATALOGUE, get_entry
from groundset.models.fetch import human_size, is_cached, pull
from groundset.options import Options, option
from groundset.printing import say, say_lines, say_table


class ListOptions(Options):
    """List the models of the catalogue."""

    as_json: bool = option(False, "Print JSON.", command_only=True)


class PullOptions(Options):
    """Download models and verify them by SHA-256.

    What is already there is only verified, and an interrupted download goes on. The path of each model is printed.
    """

    names: tuple[str, ...] = option(
        ..., f"Names from `groundset models list`, or {hub.FORM}.", metavar="NAME", argument=True, min_length=1
    )


def list_models(options: ListOptions) -> None:
    """Print the models."""
    fields = ("name", "role", "size", "licence", "cached", "note")
    rows = [(each.name, each.role, each.size, each.licence, is_cached(each), each.note) for each in CATALOGUE.values()]
    if options.as_json:
        say_lines(json_text({"models": [dict(zip(fields, row, strict=True)) for row in rows]}, indent=2))
    else:
        say_table(
            fields,
            [
                (name, role, human_size(size), licence, "yes" if cached else "no", note)
                for name, role, size, licence, cached, note in rows
            ],
        )


def pull_models(options: PullOptions) -> None:
    """Download the models and print their paths."""
    for name in options.names:
        _ = hub.parse_name(name) if name.startswith(hub.PREFIX) else get_entry(name)
    for name in options.names:
        say(str(pull(name)))
