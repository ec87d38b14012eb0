"""Load corpus, queries and the judgements of each split with BEIR."""

import json
import sys
from pathlib import Path

from beir.datasets.data_loader import GenericDataLoader

folder = sys.argv[1]
splits = {}
for file in Path(folder, "qrels").glob("*.tsv"):
    corpus, queries, qrels = GenericDataLoader(folder).load(split=file.stem)
    splits[file.stem] = {"queries": queries, "qrels": qrels}
Path(sys.argv[2]).write_text(json.dumps({"corpus": corpus, "splits": splits}))
