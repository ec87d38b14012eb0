"""Attacks on groundset, one module per area with a tuple ``ATTACKS`` of functions.

An attack gets a target and an empty folder. It returns the fault in a few words, empty if the attack was repelled.
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
