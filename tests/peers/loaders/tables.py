"""Load questions and corpus with `datasets`, from CSV or parquet."""

import json
import sys
from pathlib import Path

from datasets import load_dataset

folder = Path(sys.argv[1])
files = folder.glob("[!.]*")
read = {
    file.stem: load_dataset(folder.name, data_files=str(file), split="train").to_list()
    for file in files
}
Path(sys.argv[2]).write_text(json.dumps(read))
