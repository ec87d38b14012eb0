"""Measure the seconds from the start of a run to its first question, and to its first sample.

    python benchmarks/start.py [--chunks 2000] [--lm NAME]

The documents are the sample documents, repeated with other names of places until there are enough
chunks; each chunk differs, so that none is a copy of another. No figure is asserted: machines
differ.
"""

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from groundset.files import data_path
from groundset.run.run import open_run

_TICK_SECONDS = 0.2
_EVENTS = {
    "first question written": "SELECT 1 FROM calls LIMIT 1",
    "first sample": "SELECT 1 FROM attempts WHERE state = 'accepted' LIMIT 1",
}


def write_documents(folder: Path, chunks: int) -> None:
    """Write enough text for some chunks of a thousand characters."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(data_path("samples").glob("*.md"))]
    written = copy = 0
    while written < chunks * 1000:
        for number, text in enumerate(texts):
            words = (
                f"{word}{copy}" if word[:1].isupper() and copy else word for word in text.split(" ")
            )
            (folder / f"{number}-{copy}.md").write_text(" ".join(words), encoding="utf-8")
            written += len(text)
        copy += 1


def main() -> None:
    """Start a run, and print when its first sample and its vectors are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--lm", default="qwen2.5-coder-0.5b")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        docs, out = Path(place, "docs"), Path(place, "run")
        docs.mkdir()
        write_documents(docs, given.chunks)
        options = f"--out {out} --lm {given.lm} --size 1 --no-track --quiet".split()
        command = [sys.executable, "-m", "groundset", "generate", str(docs), *options]
        began = time.monotonic()
        with subprocess.Popen(command) as process:
            for what, query in _EVENTS.items():
                while process.poll() is None and not _has(out, query):
                    time.sleep(_TICK_SECONDS)
                print(f"{what} after {time.monotonic() - began:.1f} s", flush=True)
            process.wait()
        print(f"{len(open_run(out).chunks):,} chunks")


def _has(out: Path, query: str) -> bool:
    database = out / "run.sqlite"
    if not database.is_file():
        return False
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as reader:
        try:
            return bool(reader.execute(query).fetchone())
        except sqlite3.OperationalError:
            return False


if __name__ == "__main__":
    main()
