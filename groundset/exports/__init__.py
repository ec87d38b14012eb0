"""Exports: the samples and chunks of a run in the formats that other tools read."""

from groundset.exports.autorag import Exported, export_autorag

EXPORTS = {"autorag": export_autorag}

__all__ = ["EXPORTS", "Exported", "export_autorag"]
