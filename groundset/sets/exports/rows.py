"""Questions and chunks as rows of plain values, the columns in order: what the tables of several formats share."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from programs.types import Chunk, Sample


def question_row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row: its texts, its chunks and files as lists of equal length, and how it was measured."""
    return {
        "id": sample.id,
        "question": sample.question,
        "answer": sample.answer,
        "evolution": sample.evolution,
        "kind": kind_of(sample),
        "language": sample.language,
        "split": sample.split,
        "contexts": [chunk.text for chunk in sample.contexts],
        "chunk_ids": [chunk.chunk_id for chunk in sample.contexts],
        "paths": [chunk.path for chunk in sample.contexts],
        "retrieval_gt": [list(group) for group in sample.retrieval_gt],
        "rank": sample.retrieval.rank,
        "probability": sample.probability,
    }


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as a row: its ids, where it stands, and its text."""
    return chunk.model_dump(mode="json", exclude={"metadata"})


def kind_of(sample: Sample) -> str | None:
    """Return what kind of thing a question asks for, if that was noted."""
    kind = sample.metadata.get("kind")
    return None if kind is None else str(kind)


def relevant_ids(sample: Sample) -> list[str]:
    """Return the chunks that a question counts as found with, of all its groups, each once."""
    return list(dict.fromkeys(name for group in sample.retrieval_gt for name in group))


def write_json(file: Path, value: Any) -> None:
    """Write a value as indented JSON."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        json.dump(value, stream, indent=1)
        stream.write("\n")


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object in each line."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
