"""Imports: sets that were made elsewhere, read from the files that other tools write, by name."""

from collections.abc import Mapping

from groundset.sets.imports import autorag, beir, jsonl
from groundset.sets.imports.base import ImportFormat

IMPORTS: Mapping[str, ImportFormat] = {module.IMPORT.name: module.IMPORT for module in (autorag, beir, jsonl)}
