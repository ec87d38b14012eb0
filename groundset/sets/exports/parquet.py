"""Two typed tables with all that a run knows of its questions: `questions.parquet` and `corpus.parquet`.

The columns of the spreadsheets, with lists as lists, and what those leave out: samples and chunks can be built again
from them. What may hold anything (the trail, metadata) is JSON text.
"""

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, arrow_schema, chunk_row, question_row
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

QUESTIONS_FILE, CORPUS_FILE = "questions.parquet", "corpus.parquet"
_ROWS_AT_ONCE = 5_000  # a row group each; a table is never whole in memory


def write_parquet(run: "Run", folder: Path) -> None:
    """Write both tables."""
    _write(folder / CORPUS_FILE, map(_corpus_row, run.chunks))
    _write(folder / QUESTIONS_FILE, map(_question_row, run.samples))


def _question_row(sample: Sample) -> dict[str, Any]:
    return {
        **question_row(sample),
        **sample.retrieval.model_dump(include={"retrieved_id", "retrieved_content", "score"}),
        "trail": _json([record.model_dump(mode="json") for record in sample.trail]),
        "metadata": _json(sample.metadata),
    }


def _corpus_row(chunk: Chunk) -> dict[str, Any]:
    return {**chunk_row(chunk), "metadata": _json(chunk.metadata)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(rows)
    schema, rows = arrow_schema(*first), chain([first], rows)
    # Arrow itself opens no path that is not UTF-8.
    with file.open("wb") as opened, pq.ParquetWriter(opened, schema) as writer:
        while group := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))


EXPORT = Export(
    "parquet",
    "questions.parquet and corpus.parquet, typed and complete",
    write_parquet,
    (QUESTIONS_FILE, CORPUS_FILE),
    last=QUESTIONS_FILE,
)
