"""Two typed tables with all that a run knows of its questions: `questions.parquet` and `corpus.parquet`.

The columns of the spreadsheets, with lists as lists, and what those leave out: samples and chunks can be built again
from them. The types are those of the schemas below even where every value is missing. What may hold anything (the
trail, metadata) is JSON text.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export
from groundset.sets.exports.rows import chunk_row, question_row
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

QUESTIONS_FILE = "questions.parquet"
CORPUS_FILE = "corpus.parquet"
_ROWS_AT_ONCE = 5_000  # a row group each; a table is never whole in memory


def write_parquet(run: "Run", folder: Path) -> None:
    """Write both tables."""
    questions, corpus = _schemas()
    _write(folder / CORPUS_FILE, corpus, map(_corpus_row, run.chunks))
    _write(folder / QUESTIONS_FILE, questions, map(_question_row, run.samples))


def _schemas() -> tuple[Any, Any]:
    """Return the Arrow schemas of questions and chunks."""
    import pyarrow as pa

    text, texts, whole = pa.string(), pa.list_(pa.string()), pa.int64()
    questions = {
        **dict.fromkeys(("id", "question", "answer", "evolution", "kind", "language", "split"), text),
        **dict.fromkeys(("contexts", "chunk_ids", "paths"), texts),
        "retrieval_gt": pa.list_(texts),
        "rank": whole,
        "probability": pa.float64(),
        "retrieved_id": text,
        "retrieved_content": text,
        "score": whole,
        "trail": text,
        "metadata": text,
    }
    corpus = {
        **dict.fromkeys(("chunk_id", "doc_id", "path", "title"), text),
        "headings": texts,
        "start": whole,
        "end": whole,
        "text": text,
        "metadata": text,
    }
    return pa.schema(list(questions.items())), pa.schema(list(corpus.items()))


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
