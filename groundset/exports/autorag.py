"""AutoRAG's corpus, `corpus.parquet`; its questions are a row of
:data:`groundset.exports.formats.EXPORTS`.

It holds every chunk. AutoRAG compares times without time zones, so `last_modified_datetime` is
naive UTC. Other metadata of a chunk is kept under its name, as text; `start_end_idx` of an imported
chunk that does not fit its document is the one that it came with.
"""

import json
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
        values = [chunk.metadata.get(key) for chunk in chunks]
        metadata[key] = pa.array(list(map(_text, values)), pa.string())
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


def _text(value: Any) -> str | None:
    """Return a value as text, so that types do not depend on values."""
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, ensure_ascii=False)
