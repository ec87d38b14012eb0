"""Load questions and corpus with `datasets`."""

import json
import sys
from pathlib import Path

from datasets import load_from_disk

read = {
    name: {split: table.to_list() for split, table in load_from_disk(str(Path(sys.argv[1], name))).items()}
    for name in ("qa", "corpus")
}
Path(sys.argv[2]).write_text(json.dumps(read))
