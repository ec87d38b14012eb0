"""Growing a run: a later request for more samples, or for wider values of some options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.engine.config import RunConfig
from groundset.options import option_name
from groundset.store.run_store import RunStore
from programs.errors import InputError, RunMismatchError
from programs.recipes.base import Recipe


class Request(NamedTuple):
    """The size and growing options requested of a run.

    Attributes:
        first: the number of the first attempt planned for it.
        size: how many samples; None requests one for each key of the agenda.
        options: the options in ``Recipe.growing``.
    """

    first: int
    size: int | None
    options: dict[str, Any]


def current_request(config: RunConfig, recipe: Recipe, first: int = 0) -> Request:
    """Build the request of a configuration."""
    return Request(first, config.size or recipe.size, {name: getattr(config.options, name) for name in recipe.growing})


def stored_requests(store: RunStore, recipe: Recipe) -> list[Request]:
    """Return all requests of a stored run, the earliest first."""
    growth = store.meta("growth")
    if not growth:  # runs of earlier versions
        configuration = store.required("configuration")
        growth = [{"first": 0, **{name: configuration.get(name) for name in ("size", *recipe.growing)}}]
    return [
        Request(each["first"], each["size"] or recipe.size, {name: each[name] for name in recipe.growing})
        for each in growth
    ]


def growth_record(growth: Sequence[Request]) -> list[dict[str, Any]]:
    """Return requests as they are stored, also in ``run.json``."""
    return [{"first": each.first, "size": each.size, **each.options} for each in growth]


def grown(store: RunStore, config: RunConfig, recipe: Recipe, folder: Path) -> list[Request] | None:
    """Return the requests of a stored run with a new one added, None if nothing new is requested.

    Raises:
        InputError: the size is less than the number of accepted samples.
        RunMismatchError: an option is narrower than before.
    """
    stored, new = stored_requests(store, recipe), current_request(config, recipe, store.attempts.decided())
    old = stored[-1]
    if (new.size, new.options) == (old.size, old.options):
        return None
    accepted = store.results.count()
    if new.size is not None and new.size < accepted:
        raise InputError(
            f"--size {new.size}: the run in {folder} has {accepted} samples already, and samples are never removed; "
            "choose a larger --size or another --out"
        )
    for name, order in recipe.growing.items():
        if order.index(new.options[name]) < order.index(old.options[name]):
            option = option_name(name)
            raise RunMismatchError(
                f"{option} {new.options[name]}: the run in {folder} has {option} {old.options[name]}, and samples are "
                f"never removed; choose {option} {old.options[name]} or another --out"
            )
    return [*(request for request in stored if request.first < new.first), new]


def grow(store: RunStore, config: RunConfig, growth: Sequence[Request]) -> None:
    """Store the requests of a run, and drop undecided attempts."""
    new = growth[-1]
    configuration = {**store.required("configuration"), "size": config.size, **new.options}
    store.replan({"growth": growth_record(growth), "configuration": configuration, "asked": new.size, "ending": None})
