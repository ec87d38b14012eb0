"""AutoRAG's two tables: `qa.parquet` and `corpus.parquet`.

The corpus holds every chunk of the run, so that retrieval is measured against all of it. AutoRAG compares
times without time zones, so `last_modified_datetime` is in UTC without one. What a chunk that was brought along says of
itself goes out as it came: `start_end_idx`, neighbours and time, and any other key of its metadata.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export
from groundset.sets.exports.brought import brought_along, neighbour_of, span_of, time_of
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

QA_FILE = "qa.parquet"
CORPUS_FILE = "corpus.parquet"


def write_autorag(content: "Run", folder: Path) -> None:
    """Write both tables."""
    import pyarrow.parquet as pq

    started = content.started or datetime.now(UTC)  # where a document does not know when it was last modified
    modified = {document.doc_id: _utc(document.last_modified or started) for document in content.documents}
    tables = {CORPUS_FILE: corpus_table(content.chunks, modified), QA_FILE: qa_table(content.samples)}
    for name, table in tables.items():
        with (folder / name).open("wb") as file:  # Arrow itself opens no path that is not UTF-8
            pq.write_table(table, file)


def qa_table(samples: Sequence[Sample]) -> Any:
    """Return the Arrow table of questions: id, text, ground-truth chunk ids (2-D) and answers."""
    import pyarrow as pa

    schema = pa.schema(
        [
            ("qid", pa.string()),
            ("query", pa.string()),
            ("retrieval_gt", pa.list_(pa.list_(pa.string()))),
            ("generation_gt", pa.list_(pa.string())),
        ]
    )
    rows = [
        {
            "qid": sample.id,
            "query": sample.question,
            "retrieval_gt": [list(group) for group in sample.retrieval_gt],
            "generation_gt": [sample.answer, *_texts(sample.metadata.get("other_answers"))],
        }
        for sample in samples
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def corpus_table(chunks: Sequence[Chunk], modified: Mapping[str, datetime]) -> Any:
    """Return the Arrow table of chunks: id, text, place in the document, neighbours and document's time."""
    import pyarrow as pa

    brought = brought_along(chunks)
    metadata = pa.struct(
        [
            ("last_modified_datetime", pa.timestamp("us")),
            ("prev_id", pa.string()),
            ("next_id", pa.string()),
            ("title", pa.string()),
            ("document_id", pa.string()),
            *((name, column.type) for name, column in brought.items()),
        ]
    )
    schema = pa.schema(
        [
            ("doc_id", pa.string()),
            ("contents", pa.string()),
            ("path", pa.string()),
            ("start_end_idx", pa.list_(pa.int64())),
            ("metadata", metadata),
        ]
    )
    neighbours = neighbour_ids(chunks)
    rows = []
    further = {name: column.to_pylist() for name, column in brought.items()}
    for number, chunk in enumerate(chunks):
        before, after = neighbours[chunk.chunk_id]
        place = {
            "last_modified_datetime": time_of(chunk) or modified[chunk.doc_id],
            "prev_id": neighbour_of(chunk, "prev_id", before, neighbours),
            "next_id": neighbour_of(chunk, "next_id", after, neighbours),
            "title": chunk.title,
            "document_id": chunk.doc_id,
            **{name: values[number] for name, values in further.items()},
        }
        rows.append(
            {
                "doc_id": chunk.chunk_id,
                "contents": chunk.text,
                "path": chunk.path,
                "start_end_idx": span_of(chunk),
                "metadata": place,
            }
        )
    return pa.Table.from_pylist(rows, schema=schema)


def neighbour_ids(chunks: Iterable[Chunk]) -> dict[str, tuple[str | None, str | None]]:
    """Return, for each chunk id, the ids of the chunks before and after it in its document."""
    by_document: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_document.setdefault(chunk.doc_id, []).append(chunk)
    found: dict[str, tuple[str | None, str | None]] = {}
    for members in by_document.values():
        ids = [chunk.chunk_id for chunk in sorted(members, key=lambda chunk: (chunk.start, chunk.end))]
        for before, name, after in zip([None, *ids], ids, [*ids[1:], None], strict=False):
            found[name] = (before, after)
    return found


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


EXPORT = Export("autorag", "qa.parquet and corpus.parquet", write_autorag, (QA_FILE, CORPUS_FILE), last=QA_FILE)
