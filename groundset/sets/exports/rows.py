"""Questions and chunks as rows of plain values, and the types of their columns: one schema for csv, parquet and hf."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from programs.types import Chunk, Sample

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_COLUMNS = ("chunk_id", "doc_id", "path", "title", "headings", "start", "end", "text")


def arrow_schema(*columns: str) -> "pa.Schema":
    """Return the Arrow schema of columns of questions or chunks, so that a column without values has its type too.

    ``provenance`` holds the columns of a chunk but for its text, for each chunk of a question.
    """
    import pyarrow as pa

    texts = pa.list_(pa.string())
    types = {
        **dict.fromkeys(("contexts", "chunk_ids", "paths", "headings"), texts),
        **dict.fromkeys(("rank", "score", "start", "end"), pa.int64()),
        "retrieval_gt": pa.list_(texts),
        "probability": pa.float64(),
    }
    if "provenance" in columns:
        types["provenance"] = pa.list_(pa.struct(list(arrow_schema(*CHUNK_COLUMNS[:-1]))))
    return pa.schema([(name, types.get(name, pa.string())) for name in columns])


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
