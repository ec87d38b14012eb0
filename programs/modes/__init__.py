"""The asking modes, by name: how a model is asked for questions."""

from collections.abc import Mapping

from programs.modes import free, guided, sentence
from programs.modes.base import Mode

_MODULES = (guided, sentence, free)

MODES: Mapping[str, Mode] = {module.MODE.name: module.MODE for module in _MODULES}

__all__ = ["MODES", "Mode"]
