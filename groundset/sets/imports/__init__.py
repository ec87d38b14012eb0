"""Imports: evaluation sets made elsewhere, read from the files that other tools write, one file a format."""

from collections.abc import Mapping

from groundset.sets.imports.base import ImportFormat
from programs.discover import discover

IMPORTS: Mapping[str, ImportFormat] = discover("groundset.sets.imports", "IMPORT", ImportFormat)
