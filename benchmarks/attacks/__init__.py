"""Attacks on groundset, by area: one module each, whose ``ATTACKS`` are functions of a target and an empty folder.

An attack returns what is wrong, in a few words, or an empty text if groundset held. Its name is the row of the table.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from attacks.target import Target

_AREAS = sorted(module.name for module in iter_modules(__path__) if module.name not in ("server", "target"))

ATTACKS: dict[str, Callable[[Target, Path], str]] = {
    attack.__name__: attack for area in _AREAS for attack in import_module(f"attacks.{area}").ATTACKS
}
