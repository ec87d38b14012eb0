"""Growing a run: a stored run may be requested to have more samples, or wider values of some options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.engine.config import RunConfig
from groundset.options import option_name
from groundset.store.run_store import RunStore
from programs.errors import InputError, RunMismatchError
from programs.recipes.base import Recipe


class Request(NamedTuple):
    """The size and options requested of a run, from an attempt on.

    Attributes:
        first: the number of the first attempt planned for this request.
        size: how many samples; None for one of each key of the agenda.
        options: those options of the recipe that may grow.
    """

    first: int
    size: int | None
    options: dict[str, Any]

    @property
    def demand(self) -> tuple[int | None, dict[str, Any]]:
        """Return the request without the attempt that it starts from."""
        return self.size, self.options


def current_request(config: RunConfig, recipe: Recipe, first: int = 0) -> Request:
    """Build the request of a configuration."""
    return Request(first, config.size or recipe.size, {name: getattr(config.options, name) for name in recipe.growing})


def stored_requests(store: RunStore, recipe: Recipe) -> list[Request]:
    """Return all requests of a stored run, the earliest first."""
    growth = store.meta("growth")
    if not growth:  # made by a version whose runs could not grow
        configuration = store.required("configuration")
        growth = [{"first": 0, **{name: configuration.get(name) for name in ("size", *recipe.growing)}}]
    return [
        Request(each["first"], each["size"] or recipe.size, {name: each[name] for name in recipe.growing})
        for each in growth
    ]


def growth_record(growth: Sequence[Request]) -> list[dict[str, Any]]:
    """Return requests as entries of the store and of ``run.json``."""
    return [{"first": each.first, "size": each.size, **each.options} for each in growth]


def grown(store: RunStore, config: RunConfig, recipe: Recipe, folder: Path) -> list[Request] | None:
    """Return the requests of a stored run with a new one added, None if nothing new is requested.

    Raises:
        InputError: the size is less than the number of accepted samples.
        RunMismatchError: an option is narrower than before.
    """
    before, now = stored_requests(store, recipe), current_request(config, recipe, store.attempts.decided())
    if now.demand == before[-1].demand:
        return None
    accepted = store.results.count()
    if now.size is not None and now.size < accepted:
        raise InputError(
            f"--size {now.size}: the set in {folder} has {accepted} samples already, and none is removed; "
            "choose a larger --size or another --out"
        )
    for name, order in recipe.growing.items():
        was, wanted = before[-1].options[name], now.options[name]
        if order.index(wanted) < order.index(was):
            raise RunMismatchError(
                f"{option_name(name)} {wanted}: the run in {folder} has {option_name(name)} {was}, and nothing is "
                f"removed; choose {option_name(name)} {was} or another --out"
            )
    return [*(each for each in before if each.first < now.first), now]


def grow(store: RunStore, config: RunConfig, growth: Sequence[Request]) -> None:
    """Store the requests of a run, and drop planned attempts that are undecided."""
    now = growth[-1]
    configuration = {**store.required("configuration"), "size": config.size, **now.options}
    store.replan({"growth": growth_record(growth), "configuration": configuration, "asked": now.size, "ending": None})
