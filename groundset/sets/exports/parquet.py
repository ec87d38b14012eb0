"""Two typed, complete tables: `questions.parquet` and `corpus.parquet`.

They have the columns of the CSV export, with native lists, and everything needed to rebuild samples and chunks. The
trail and metadata are JSON strings.
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
_ROW_GROUP = 5_000  # rows; limits memory


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
    # Arrow cannot open paths that are not UTF-8.
    with file.open("wb") as stream, pq.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, _ROW_GROUP)):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))


EXPORT = Export(
    "parquet",
    "questions.parquet and corpus.parquet, typed and complete",
    write_parquet,
    (QUESTIONS_FILE, CORPUS_FILE),
    last=QUESTIONS_FILE,
)
