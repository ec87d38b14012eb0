"""Exports: the samples and chunks of a run in the formats that other tools read, by name."""

from collections.abc import Mapping

from groundset.exports import autorag, beir, csv, hf, parquet, trec, triplets
from groundset.exports.base import Export

EXPORTS: Mapping[str, Export] = {
    module.EXPORT.name: module.EXPORT for module in (autorag, beir, csv, hf, parquet, trec, triplets)
}
