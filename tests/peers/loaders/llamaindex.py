"""Load both datasets with LlamaIndex."""

import json
import sys
from pathlib import Path

from llama_index.core.evaluation import EmbeddingQAFinetuneDataset
from llama_index.core.llama_dataset import LabelledRagDataset

rag = LabelledRagDataset.from_json(str(Path(sys.argv[1], "rag_dataset.json")))
retrieval = EmbeddingQAFinetuneDataset.from_json(str(Path(sys.argv[1], "retrieval_dataset.json")))
read = {
    "examples": [example.model_dump(mode="json") for example in rag.examples],
    "query_by": [str(example.query_by) for example in rag.examples],
    "retrieval": retrieval.model_dump(),
}
Path(sys.argv[2]).write_text(json.dumps(read))
