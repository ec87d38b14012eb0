"""Exports: the samples and chunks of a run in the formats that other tools read, by name."""

from collections.abc import Mapping

from groundset.sets.exports import argilla, autorag, beir, csv, deepeval, hf, llamaindex, parquet, ragas, trec, triplets
from groundset.sets.exports.base import Export

EXPORTS: Mapping[str, Export] = {
    module.EXPORT.name: module.EXPORT
    for module in (argilla, autorag, beir, csv, deepeval, hf, llamaindex, parquet, ragas, trec, triplets)
}
