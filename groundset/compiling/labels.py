"""Which label files a step is compiled with."""

from collections.abc import Sequence
from pathlib import Path

from groundset.data_files import data_path
from optimizers.labels import ChunkLabel, QuestionLabel

_SHIPPED: dict[type[ChunkLabel] | type[QuestionLabel], str] = {
    ChunkLabel: "chunks.jsonl",
    QuestionLabel: "questions.jsonl",
}


def label_files(own: Sequence[Path], kind: type[ChunkLabel] | type[QuestionLabel] | None = None) -> list[Path]:
    """Return the shipped label files of a kind, or of both, and the user's own."""
    shipped = [_SHIPPED[kind]] if kind else list(_SHIPPED.values())
    return [*(data_path("labels", name) for name in shipped), *own]
