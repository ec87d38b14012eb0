"""Which label files a step is compiled with."""

from collections.abc import Sequence
from pathlib import Path

from groundset.data_files import data_path

CHUNKS, QUESTIONS = "chunks.jsonl", "questions.jsonl"
_OF_STEP = {"chunk": (CHUNKS,), "judge": (QUESTIONS,)}


def label_files(step: str, own: Sequence[Path]) -> list[Path]:
    """Return the shipped label files that a step learns from, and the user's own."""
    shipped = _OF_STEP.get(step, (CHUNKS, QUESTIONS))
    return [*(data_path("labels", name) for name in shipped), *own]
