"""Load a testset with Ragas 0.1: as rows of its test set, and as the dataset that its `evaluate`
checks first.
"""

import json
import sys
from pathlib import Path

from datasets import Dataset
from ragas.testset.evolutions import DataRow
from ragas.testset.generator import TestDataset
from ragas.validation import validate_column_dtypes

file = Path(sys.argv[1], "testset-0.1.jsonl")
rows = [json.loads(line) for line in file.open()]
testset = TestDataset([DataRow(**row) for row in rows])
dataset = Dataset.from_json(str(file))
validate_column_dtypes(dataset)
Path(sys.argv[2]).write_text(
    json.dumps({"dataset": dataset.to_list(), "testset": testset.to_dataset().to_list()})
)
