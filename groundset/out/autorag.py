"""AutoRAG's two tables: `qa.parquet` and `corpus.parquet`.

AutoRAG takes no measure of retrieval for a question whose ground truth is ``[[]]``, as unanswerable questions have it.
Sets with such questions have another column: the chunks that a question was made from.

The corpus holds every chunk. AutoRAG compares times without time zones, so `last_modified_datetime` is naive UTC. Other
metadata of a chunk is kept under its name; `start_end_idx` of an imported chunk is the one that it came with.
"""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from groundset.out.sets import EvaluationSet, other_answers
from programs.types import Chunk, Sample

OFFSETS = "start_end_idx"
OWN = frozenset((OFFSETS, "last_modified_datetime", "prev_id", "next_id", "title", "document_id"))


def write_autorag(found: EvaluationSet, folder: Path) -> None:
    """Write both tables."""
    import pyarrow.parquet as pq

    # AutoRAG requires a time; that of a run is known unless it was imported.
    started = datetime.fromisoformat(found.runs[0].record.get("started") or "1970-01-01")
    times = {name: document.last_modified or started for name, document in found.documents.items()}
    modified = {
        name: time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time for name, time in times.items()
    }
    for name, table in (("corpus", corpus_table(found.chunks, modified)), ("qa", qa_table(found.samples))):
        with (folder / f"{name}.parquet").open("wb") as file:  # Arrow cannot open paths that are not UTF-8
            pq.write_table(table, file)


def qa_table(samples: Sequence[Sample]) -> Any:
    """Build the Arrow table of questions: id, text, groups of ground-truth chunk ids, and answers."""
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    columns = {"qid": text, "query": text, "retrieval_gt": pa.list_(texts), "generation_gt": texts}
    if not all(sample.retrieval_gt for sample in samples):
        columns["chunk_ids"] = texts
    rows = [
        {
            "qid": sample.id,
            "query": sample.question,
            "retrieval_gt": [list(group) for group in sample.retrieval_gt] or [[]],
            "generation_gt": [sample.answer, *other_answers(sample)],
            "chunk_ids": [chunk.chunk_id for chunk in sample.contexts],
        }
        for sample in samples
    ]
    # Arrow ignores keys that are not in the schema.
    return pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))


def corpus_table(chunks: Sequence[Chunk], modified: Mapping[str, datetime]) -> Any:
    """Build the Arrow table of chunks: id, text, offsets, neighbours and modification time of the document."""
    import pyarrow as pa

    keys = {key for chunk in chunks for key, value in chunk.metadata.items() if value is not None} - OWN
    extra = {key: _column([chunk.metadata.get(key) for chunk in chunks]) for key in sorted(keys)}
    text = pa.string()
    metadata = {"last_modified_datetime": pa.timestamp("us"), "prev_id": text, "next_id": text, "title": text}
    metadata |= {"document_id": text, **{key: column.type for key, column in extra.items()}}
    columns = {"doc_id": text, "contents": text, "path": text, OFFSETS: pa.list_(pa.int64())}
    schema = pa.schema([*columns.items(), ("metadata", pa.struct(list(metadata.items())))])
    ordered = sorted(chunks, key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end))
    pairs = [(one.chunk_id, two.chunk_id) for one, two in pairwise(ordered) if one.doc_id == two.doc_id]
    after, before = dict(pairs), {later: earlier for earlier, later in pairs}
    values = {key: column.to_pylist() for key, column in extra.items()}
    rows = [
        {
            "doc_id": chunk.chunk_id,
            "contents": chunk.text,
            "path": chunk.path,
            OFFSETS: chunk.metadata.get(OFFSETS, [chunk.start, chunk.end]),
            "metadata": {
                "last_modified_datetime": modified[chunk.doc_id],
                "prev_id": before.get(chunk.chunk_id),
                "next_id": after.get(chunk.chunk_id),
                "title": chunk.title,
                "document_id": chunk.doc_id,
                **{key: column[index] for key, column in values.items()},
            },
        }
        for index, chunk in enumerate(chunks)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _column(values: Sequence[Any]) -> Any:
    """Return an Arrow column; values without a common Parquet type, such as empty objects, become JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        column = pa.array(values)
        pq.write_table(pa.table([column[:0]], ["tried"]), io.BytesIO())
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])
    return column
