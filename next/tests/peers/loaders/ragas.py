"""Load a testset with Ragas."""

import json
import sys
from pathlib import Path

from ragas import EvaluationDataset
from ragas.testset.synthesizers.testset_schema import Testset

file = Path(sys.argv[1], "testset.jsonl")
testset = Testset.from_jsonl(file)
read = {
    "evaluation": EvaluationDataset.from_jsonl(file).to_list(),
    "testset": testset.to_list(),
    "converted": testset.to_evaluation_dataset().to_list(),
}
Path(sys.argv[2]).write_text(json.dumps(read))
