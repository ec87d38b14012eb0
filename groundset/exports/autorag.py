"""The chunks of AutoRAG's corpus; its columns are a row of
:data:`groundset.exports.formats.EXPORTS`.

AutoRAG compares times without time zones, so `last_modified_datetime` is naive UTC. Other metadata
of a chunk is kept under its name, as text, so that types do not depend on values; `start_end_idx`
of an imported chunk that does not fit its document is the one that it came with.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from groundset.corpus.own import OF_AUTORAG, OFFSETS
from groundset.exports.sets import EvaluationSet
from groundset.exports.tables import Row


def passages(found: EvaluationSet) -> Iterator[Row]:
    """Yield every chunk with its offsets, its neighbours and the modification time of its
    document.
    """
    ordered = sorted(found.chunks, key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end))
    after = {
        one.chunk_id: two.chunk_id for one, two in pairwise(ordered) if one.doc_id == two.doc_id
    }
    before = {later: earlier for earlier, later in after.items()}
    # AutoRAG requires a time; that of a run is known unless it was imported.
    started = datetime.fromisoformat(
        found.runs[0].record.get("started") or "1970-01-01T00:00+00:00"
    )
    for chunk in found.chunks:
        modified = found.documents[chunk.doc_id].last_modified or started
        others = {name: _text(value) for name, value in chunk.metadata.items()}
        yield {
            "chunk_id": chunk.chunk_id,
            "text": chunk.text,
            "path": chunk.path,
            "offsets": chunk.metadata.get(OFFSETS, [chunk.start, chunk.end]),
            "facts": {
                "last_modified_datetime": modified.astimezone(UTC).replace(tzinfo=None),
                "prev_id": before.get(chunk.chunk_id),
                "next_id": after.get(chunk.chunk_id),
                "title": chunk.title,
                "document_id": chunk.doc_id,
                **{name: others[name] for name in sorted(others.keys() - OF_AUTORAG)},
            },
        }


def _text(value: Any) -> str | None:
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, ensure_ascii=False)
