"""Exports: the samples and chunks of a run in the formats that other tools read, one file each."""

from collections.abc import Mapping

from groundset.sets.exports.base import Export
from programs.discover import discover

EXPORTS: Mapping[str, Export] = discover("groundset.sets.exports", "EXPORT", Export)
