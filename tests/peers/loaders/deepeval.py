"""Load goldens with DeepEval."""

import json
import sys
from pathlib import Path

from deepeval.dataset import EvaluationDataset

dataset = EvaluationDataset()
dataset.add_goldens_from_json_file(str(Path(sys.argv[1], "goldens.json")))
Path(sys.argv[2]).write_text(
    json.dumps([golden.model_dump(exclude_none=True) for golden in dataset.goldens])
)
