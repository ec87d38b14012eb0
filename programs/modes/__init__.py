"""The modes, one file each: how a model is asked for questions."""

from collections.abc import Mapping

from programs.discover import discover
from programs.modes.base import Mode

MODES: Mapping[str, Mode] = discover("programs.modes", "MODE", Mode)

__all__ = ["MODES", "Mode"]
