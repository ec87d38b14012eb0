"""Export formats, one module each."""

from collections.abc import Mapping

from groundset.sets.exports.base import Export
from programs.discover import discover

EXPORTS: Mapping[str, Export] = discover("groundset.sets.exports", "EXPORT", Export)
