"""A run that grows: what was asked for, and from which attempt on.

What is asked for decides what is planned. A run that is asked for more goes on from what it has, and the attempts
before that are followed again as they were planned.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.engine.config import RunConfig
from groundset.options import option_name
from groundset.store.run_store import RunStore
from programs.errors import InputError, RunMismatchError
from programs.recipes.base import Recipe


class Asked(NamedTuple):
    """What a run is asked for from an attempt on.

    Attributes:
        first: the number of the first attempt that is planned so.
        size: how many samples; None for one of each key of the agenda.
        options: those options of the recipe that may grow.
    """

    first: int
    size: int | None
    options: dict[str, Any]

    @property
    def wish(self) -> tuple[int | None, dict[str, Any]]:
        """Return what is asked for, wherever it begins."""
        return self.size, self.options


def asked_now(config: RunConfig, recipe: Recipe, first: int = 0) -> Asked:
    """Return what a configuration asks for."""
    return Asked(first, config.size or recipe.size, {name: getattr(config.options, name) for name in recipe.growing})


def asked_so_far(store: RunStore, recipe: Recipe) -> list[Asked]:
    """Return what the run in a store was asked for, the earliest first."""
    told = store.meta("growth")
    if not told:  # a run of a version whose runs could not grow
        configuration = store.told("configuration")
        told = [{"first": 0, **{name: configuration.get(name) for name in ("size", *recipe.growing)}}]
    return [
        Asked(each["first"], each["size"] or recipe.size, {name: each[name] for name in recipe.growing})
        for each in told
    ]


def growth_record(growth: Sequence[Asked]) -> list[dict[str, Any]]:
    """Return what is stored, and said in ``run.json``, of what a run was asked for."""
    return [{"first": each.first, "size": each.size, **each.options} for each in growth]


def grown(store: RunStore, config: RunConfig, recipe: Recipe, folder: Path) -> list[Asked] | None:
    """Return what a stored run was asked for once it is asked for something else now, None if it is the same.

    Raises:
        InputError: less is asked for than there is.
        RunMismatchError: an option is narrower than it was.
    """
    before, now = asked_so_far(store, recipe), asked_now(config, recipe, store.attempts.decided())
    if now.wish == before[-1].wish:
        return None
    accepted = store.results.count()
    if now.size is not None and now.size < accepted:
        raise InputError(
            f"--size {now.size}: the set in {folder} has {accepted} samples already, and nothing is taken away; "
            "name a larger --size or another folder"
        )
    for name, order in recipe.growing.items():
        was, wanted = before[-1].options[name], now.options[name]
        if order.index(wanted) < order.index(was):
            raise RunMismatchError(
                f"{option_name(name)} {wanted}: the run in {folder} has {option_name(name)} {was}, and nothing is "
                f"taken away; name {option_name(name)} {was} or another folder"
            )
    return [*(each for each in before if each.first < now.first), now]


def grow(store: RunStore, config: RunConfig, growth: Sequence[Asked]) -> None:
    """Store what a run is asked for from now on; what was planned before and is not decided is forgotten."""
    now = growth[-1]
    configuration = {**store.told("configuration"), "size": config.size, **now.options}
    store.replan({"growth": growth_record(growth), "configuration": configuration, "asked": now.size, "ending": None})
