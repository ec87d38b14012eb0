"""Which files of labels and gold rows a step is compiled with."""

from collections.abc import Sequence
from pathlib import Path

from groundset.data_files import data_path
from optimizers.gold import GOLD
from optimizers.labels import ChunkLabel, QuestionLabel

_SHIPPED: dict[type[ChunkLabel] | type[QuestionLabel], str] = {
    ChunkLabel: "chunks.jsonl",
    QuestionLabel: "questions.jsonl",
}


def label_files(own: Sequence[Path], kind: type[ChunkLabel] | type[QuestionLabel] | None = None) -> list[Path]:
    """Return the shipped label files of a kind, or of both, and the user's own."""
    shipped = [_SHIPPED[kind]] if kind else list(_SHIPPED.values())
    return [*(data_path("labels", name) for name in shipped), *own]


def gold_files() -> list[Path]:
    """Return the shipped files of gold rows, one for a kind, and of the chunks that only these are about."""
    files = (data_path("gold", f"{name}.jsonl") for name in (*GOLD, "chunks"))
    return [file for file in files if file.is_file()]  # of some kinds no rows are shipped
