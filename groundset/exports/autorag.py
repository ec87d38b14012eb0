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

from groundset.corpus.own import OF_AUTORAG, OFFSETS
from groundset.exports.sets import EvaluationSet


def write_corpus(found: EvaluationSet, folder: Path) -> None:
    """Write the corpus: id, text, offsets, neighbours and modification time of the document of each
    chunk.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    chunks = found.chunks
    ordered = sorted(chunks, key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end))
    after = {
        one.chunk_id: two.chunk_id for one, two in pairwise(ordered) if one.doc_id == two.doc_id
    }
    before = {later: earlier for earlier, later in after.items()}
    # AutoRAG requires a time; that of a run is known unless it was imported.
    started = datetime.fromisoformat(
        found.runs[0].record.get("started") or "1970-01-01T00:00+00:00"
    )
    modified = {
        name: (document.last_modified or started).astimezone(UTC).replace(tzinfo=None)
        for name, document in found.documents.items()
    }
    metadata = {
        "last_modified_datetime": [modified[chunk.doc_id] for chunk in chunks],
        "prev_id": pa.array([before.get(chunk.chunk_id) for chunk in chunks], pa.string()),
        "next_id": pa.array([after.get(chunk.chunk_id) for chunk in chunks], pa.string()),
        "title": [chunk.title for chunk in chunks],
        "document_id": [chunk.doc_id for chunk in chunks],
    }
    others = {key for chunk in chunks for key, value in chunk.metadata.items() if value is not None}
    for key in sorted(others - OF_AUTORAG):
        metadata[key] = _column([chunk.metadata.get(key) for chunk in chunks])
    columns = {
        "doc_id": [chunk.chunk_id for chunk in chunks],
        "contents": [chunk.text for chunk in chunks],
        "path": [chunk.path for chunk in chunks],
        OFFSETS: [chunk.metadata.get(OFFSETS, [chunk.start, chunk.end]) for chunk in chunks],
        "metadata": pa.StructArray.from_arrays(
            list(map(pa.array, metadata.values())), list(metadata)
        ),
    }
    # Arrow cannot open paths that are not UTF-8
    with (folder / "corpus.parquet").open("wb") as file:
        pq.write_table(pa.table(columns), file)


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
