"""Two typed tables with all that a run knows of its questions: `questions.parquet` and `corpus.parquet`.

The columns of the spreadsheets, with lists as lists, and what those leave out: samples and chunks can be built again
from them. What may hold anything (the trail, metadata) is JSON text.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export
from groundset.sets.exports.rows import CHUNK_COLUMNS, arrow_schema, chunk_row, question_row
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

QUESTIONS_FILE = "questions.parquet"
CORPUS_FILE = "corpus.parquet"
_QUESTION_COLUMNS = (
    "id", "question", "answer", "evolution", "kind", "language", "split", "contexts", "chunk_ids", "paths",
    "retrieval_gt", "rank", "probability", "retrieved_id", "retrieved_content", "score", "trail", "metadata",
)  # fmt: skip
_ROWS_AT_ONCE = 5_000  # a row group each; a table is never whole in memory


def write_parquet(run: "Run", folder: Path) -> None:
    """Write both tables."""
    _write(folder / CORPUS_FILE, arrow_schema(*CHUNK_COLUMNS, "metadata"), map(_corpus_row, run.chunks))
    _write(folder / QUESTIONS_FILE, arrow_schema(*_QUESTION_COLUMNS), map(_question_row, run.samples))


def _question_row(sample: Sample) -> dict[str, Any]:
    return {
        **question_row(sample),
        "retrieved_id": sample.retrieval.retrieved_id,
        "retrieved_content": sample.retrieval.retrieved_content,
        "score": sample.retrieval.score,
        "trail": _json([record.model_dump(mode="json") for record in sample.trail]),
        "metadata": _json(sample.metadata),
    }


def _corpus_row(chunk: Chunk) -> dict[str, Any]:
    return {**chunk_row(chunk), "metadata": _json(chunk.metadata)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(file: Path, schema: Any, rows: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow itself opens no path that is not UTF-8.
    with file.open("wb") as opened, pq.ParquetWriter(opened, schema) as writer:
        for group in _groups(rows):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))


def _groups(rows: Iterator[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    while group := list(islice(rows, _ROWS_AT_ONCE)):
        yield group


EXPORT = Export(
    "parquet",
    "questions.parquet and corpus.parquet, typed and complete",
    write_parquet,
    (QUESTIONS_FILE, CORPUS_FILE),
    last=QUESTIONS_FILE,
)
