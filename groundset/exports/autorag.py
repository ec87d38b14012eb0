"""AutoRAG's corpus, `corpus.parquet`; its questions are a row of
:data:`groundset.exports.formats.EXPORTS`.

It holds every chunk. AutoRAG compares times without time zones, so `last_modified_datetime` is
naive UTC. Other metadata of a chunk is kept under its name; `start_end_idx` of an imported chunk is
the one that it came with.
"""

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from groundset.corpus.own import OFFSETS
from groundset.exports.sets import EvaluationSet

OWN = frozenset((OFFSETS, "last_modified_datetime", "prev_id", "next_id", "title", "document_id"))


def write_corpus(found: EvaluationSet, folder: Path) -> None:
    """Write the corpus: id, text, offsets, neighbours and modification time of the document of each
    chunk.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    chunks = found.chunks
    # AutoRAG requires a time; that of a run is known unless it was imported.
    started = datetime.fromisoformat(
        found.runs[0].record.get("started") or "1970-01-01T00:00+00:00"
    )
    times = {name: document.last_modified or started for name, document in found.documents.items()}
    modified = {name: time.astimezone(UTC).replace(tzinfo=None) for name, time in times.items()}
    keys = {
        key for chunk in chunks for key, value in chunk.metadata.items() if value is not None
    } - OWN
    extra = {key: _column([chunk.metadata.get(key) for chunk in chunks]) for key in sorted(keys)}
    text = pa.string()
    metadata = {
        "last_modified_datetime": pa.timestamp("us"),
        "prev_id": text,
        "next_id": text,
        "title": text,
    }
    metadata |= {"document_id": text, **{key: column.type for key, column in extra.items()}}
    columns = {"doc_id": text, "contents": text, "path": text, OFFSETS: pa.list_(pa.int64())}
    schema = pa.schema([*columns.items(), ("metadata", pa.struct(list(metadata.items())))])
    ordered = sorted(chunks, key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end))
    pairs = [
        (one.chunk_id, two.chunk_id) for one, two in pairwise(ordered) if one.doc_id == two.doc_id
    ]
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
    # Arrow cannot open paths that are not UTF-8
    with (folder / "corpus.parquet").open("wb") as file:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)


def _column(values: Sequence[Any]) -> Any:
    """Return an Arrow column; values without a common Parquet type, such as empty objects, become
    JSON.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        column = pa.array(values)
        pq.write_table(pa.table([column[:0]], ["tried"]), io.BytesIO())
    except (pa.ArrowException, OverflowError):
        return pa.array(
            [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        )
    return column
