import json
import sys
from pathlib import Path

import pytest

from groundset.compiling import steps
from groundset.data_files import data_path

# What scripts a run is a plain module beside the tests of runs, what a report tells of one beside those of reports.
sys.path[:0] = [str(Path(__file__).parent / name) for name in ("engine", "sets", "report")]

_CHUNKS_EACH = 25  # good and bad ones of a split


@pytest.fixture
def few_chunks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile with a few labelled chunks of each split and all labelled questions: reading all takes half a minute."""
    kept: dict[tuple[str, str], list[str]] = {}
    for line in data_path("labels", "chunks.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["language"] == "en":
            kept.setdefault((row["split"], row["label"]), []).append(line)
    chunks = tmp_path_factory.mktemp("labels") / "chunks.jsonl"
    chunks.write_text("".join(f"{line}\n" for lines in kept.values() for line in lines[:_CHUNKS_EACH]), "utf-8")
    files = [chunks, data_path("labels", "questions.jsonl")]
    monkeypatch.setattr(steps, "label_files", lambda own: [*files, *own])
