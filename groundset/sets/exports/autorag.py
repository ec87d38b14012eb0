"""AutoRAG's two tables: `qa.parquet` and `corpus.parquet`.

AutoRAG takes no measure of retrieval for a question whose ground truth is ``[[]]``, as unanswerable questions have it.
Sets with such questions have another column: the chunks that a question was made from.

The corpus holds every chunk of the run. AutoRAG compares times without time zones, so `last_modified_datetime` is naive
UTC. The metadata of imported chunks is exported unchanged: `start_end_idx`, neighbours, time and any other key.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from groundset.rows import is_missing
from groundset.sets.exports.base import Export, other_answers, relevant_ids
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run


SOURCES = "chunk_ids"
QA_FILE, CORPUS_FILE = "qa.parquet", "corpus.parquet"
_OWN = frozenset(("start_end_idx", "last_modified_datetime", "prev_id", "next_id", "title", "document_id"))


def write_autorag(run: "Run", folder: Path, *, flat: Literal["and", "or"] | None = None) -> None:
    """Write both tables; see :func:`qa_table` for ``flat``."""
    import pyarrow.parquet as pq

    started = run.started or datetime.now(UTC)  # used if the modification time of a document is unknown
    modified = {document.doc_id: _utc(document.last_modified or started) for document in run.documents}
    tables = {CORPUS_FILE: corpus_table(run.chunks, modified), QA_FILE: qa_table(run.samples, flat)}
    for name, table in tables.items():
        with (folder / name).open("wb") as file:  # Arrow cannot open paths that are not UTF-8
            pq.write_table(table, file)


def qa_table(samples: Sequence[Sample], flat: Literal["and", "or"] | None = None) -> Any:
    """Build the Arrow table of questions: id, text, ground-truth chunk ids and answers.

    The ids are a list of groups; a question needs any one chunk of each group. For readers that support a single list,
    ``flat`` is "and" for the first chunk of each group, all of which are needed, or "or" for all chunks of all groups,
    any of which is enough.
    """
    import pyarrow as pa

    texts = pa.list_(pa.string())
    columns = {
        "qid": pa.string(),
        "query": pa.string(),
        "retrieval_gt": texts if flat else pa.list_(texts),
        "generation_gt": texts,
    }
    if not all(sample.answerable for sample in samples):
        columns[SOURCES] = texts
    rows = [
        {
            "qid": sample.id,
            "query": sample.question,
            "retrieval_gt": _ground_truth(sample, flat),
            "generation_gt": [sample.answer, *other_answers(sample)],
            SOURCES: [chunk.chunk_id for chunk in sample.contexts],
        }
        for sample in samples
    ]
    # Arrow ignores keys that are not in the schema.
    return pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))


def _ground_truth(sample: Sample, flat: Literal["and", "or"] | None) -> list[Any]:
    if flat == "and":
        return list(dict.fromkeys(group[0] for group in sample.retrieval_gt))
    return relevant_ids(sample) if flat else [list(group) for group in sample.retrieval_gt] or [[]]


def corpus_table(chunks: Sequence[Chunk], modified: Mapping[str, datetime]) -> Any:
    """Build the Arrow table of chunks: id, text, offsets, neighbours and modification time."""
    import pyarrow as pa

    extra = extra_columns(chunks)
    texts = dict.fromkeys(("prev_id", "next_id", "title", "document_id"), pa.string())
    types = {"last_modified_datetime": pa.timestamp("us"), **texts}
    types |= {name: column.type for name, column in extra.items()}
    columns = {
        **dict.fromkeys(("doc_id", "contents", "path"), pa.string()),
        "start_end_idx": pa.list_(pa.int64()),
        "metadata": pa.struct(list(types.items())),
    }
    neighbours = neighbour_ids(chunks)
    values = {name: column.to_pylist() for name, column in extra.items()}
    rows = []
    for index, chunk in enumerate(chunks):
        before, after = neighbours[chunk.chunk_id]
        metadata = {
            "last_modified_datetime": time_of(chunk) or modified[chunk.doc_id],
            "prev_id": neighbour_of(chunk, "prev_id", before, neighbours),
            "next_id": neighbour_of(chunk, "next_id", after, neighbours),
            "title": chunk.title,
            "document_id": chunk.doc_id,
            **{name: column[index] for name, column in values.items()},
        }
        rows.append(
            {
                "doc_id": chunk.chunk_id,
                "contents": chunk.text,
                "path": chunk.path,
                "start_end_idx": span_of(chunk),
                "metadata": metadata,
            }
        )
    return pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))


def neighbour_ids(chunks: Iterable[Chunk]) -> dict[str, tuple[str | None, str | None]]:
    """Return, for each chunk id, the ids of the chunks before and after it in its document."""
    by_document: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_document.setdefault(chunk.doc_id, []).append(chunk)
    neighbours: dict[str, tuple[str | None, str | None]] = {}
    for members in by_document.values():
        ids = [chunk.chunk_id for chunk in sorted(members, key=lambda chunk: (chunk.start, chunk.end))]
        for before, name, after in zip([None, *ids], ids, [*ids[1:], None], strict=False):
            neighbours[name] = (before, after)
    return neighbours


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def span_of(chunk: Chunk) -> list[int] | None:
    """Return the imported offsets of a chunk (None if unknown), else its own."""
    span = chunk.metadata.get("start_end_idx", ...)
    is_span = isinstance(span, list) and list(map(type, span)) == [int, int] and max(map(abs, span)) < 1 << 63
    return span if span is None or is_span else [chunk.start, chunk.end]


def time_of(chunk: Chunk) -> datetime | None:
    """Return the imported modification time of a chunk as naive UTC; None if it is that of the document."""
    text = chunk.metadata.get("last_modified_datetime")
    try:
        return _utc(datetime.fromisoformat(text)) if isinstance(text, str) else None
    except (ValueError, OverflowError):  # not a time, or before year 1 in UTC
        return None


def neighbour_of(chunk: Chunk, name: str, derived: str | None, known: Container[str]) -> str | None:
    """Return the imported neighbour of a chunk (which may be None), else the derived one."""
    neighbour = chunk.metadata.get(name, derived)
    return neighbour if neighbour is None or (isinstance(neighbour, str) and neighbour in known) else derived


def extra_columns(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """Build an Arrow column for each other metadata key with a value, sorted by name.

    Values without a common Parquet type, such as empty objects, are JSON strings.
    """
    names = {name for chunk in chunks for name, value in chunk.metadata.items() if not is_missing(value)}
    return {name: _column([chunk.metadata.get(name) for chunk in chunks]) for name in sorted(names - _OWN)}


def _column(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    known = [None if is_missing(value) else value for value in values]
    try:
        column = pa.array(known)
        if _can_be_written(column.type):
            return column
    except (pa.ArrowException, OverflowError):
        pass
    return pa.array([None if value is None else json.dumps(value, ensure_ascii=False) for value in known])


def _can_be_written(kind: Any) -> bool:
    """Return whether Parquet supports a type; it has no empty structs."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_can_be_written(kind.field(index).type) for index in range(kind.num_fields))
    return _can_be_written(kind.value_type) if pa.types.is_list(kind) else True


EXPORT = Export(
    "autorag",
    "qa.parquet and corpus.parquet",
    write_autorag,
    (QA_FILE, CORPUS_FILE),
    last=QA_FILE,
    options=("flat",),
)
