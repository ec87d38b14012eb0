"""Import formats, one module each."""

from collections.abc import Mapping

from groundset.sets.imports.base import ImportFormat
from programs.discover import discover

IMPORTS: Mapping[str, ImportFormat] = discover("groundset.sets.imports", "IMPORT", ImportFormat)
