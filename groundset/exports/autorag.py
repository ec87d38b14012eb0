"""AutoRAG's two tables: `qa.parquet` and `corpus.parquet`.

The corpus holds every chunk of the run, so that retrieval is measured against all of it. AutoRAG compares
times without time zones, so `last_modified_datetime` is in UTC without one.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groundset.exports.base import Export, Exported
from groundset.files import is_leftover
from groundset.folders import whole_folder
from programs.errors import InputError
from programs.types import Chunk, Document, Sample

QA_FILE = "qa.parquet"
CORPUS_FILE = "corpus.parquet"


def export_autorag(
    samples: Sequence[Sample],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    out: Path,
    *,
    made_at: datetime,
) -> Exported:
    """Write both tables into the folder `out`, whole or not at all: never one of them beside an older other.

    Args:
        samples: The accepted samples; at least one.
        chunks: All chunks of the run.
        documents: Their documents.
        out: A folder that is missing, empty or holds nothing but an earlier export.
        made_at: When the run was made; stands in where a document does not know when it was last modified.

    Raises:
        InputError: The folder holds other files, or the tables would not be valid.
    """
    _check_folder(out)
    _check_tables(samples, chunks, documents)
    modified = {document.doc_id: _utc(document.last_modified or made_at) for document in documents}
    tables = ((CORPUS_FILE, corpus_table(chunks, modified)), (QA_FILE, qa_table(samples)))

    import pyarrow.parquet as pq

    with whole_folder(out, last=QA_FILE) as folder:
        for name, table in tables:
            pq.write_table(table, folder / name)
    return Exported(len(samples), len(chunks))


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
            "generation_gt": [sample.answer],
        }
        for sample in samples
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def corpus_table(chunks: Sequence[Chunk], modified: Mapping[str, datetime]) -> Any:
    """Return the Arrow table of chunks: id, text, place in the document, neighbours and document's time."""
    import pyarrow as pa

    metadata = pa.struct(
        [
            ("last_modified_datetime", pa.timestamp("us")),
            ("prev_id", pa.string()),
            ("next_id", pa.string()),
            ("title", pa.string()),
            ("document_id", pa.string()),
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
    for chunk in chunks:
        before, after = neighbours[chunk.chunk_id]
        place = {
            "last_modified_datetime": modified[chunk.doc_id],
            "prev_id": before,
            "next_id": after,
            "title": chunk.title,
            "document_id": chunk.doc_id,
        }
        rows.append(
            {
                "doc_id": chunk.chunk_id,
                "contents": chunk.text,
                "path": chunk.path,
                "start_end_idx": [chunk.start, chunk.end],
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


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file, not a folder")
    names = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    foreign = [name for name in names if name not in (QA_FILE, CORPUS_FILE) and not is_leftover(name)]
    if foreign:
        raise InputError(f"{out} holds other files ({', '.join(foreign[:3])}); name an empty folder")


def _check_tables(samples: Sequence[Sample], chunks: Sequence[Chunk], documents: Sequence[Document]) -> None:
    """Refuse what AutoRAG would refuse, before anything is written."""
    if not samples:
        raise InputError("the run holds no samples, so there is nothing to export")
    _check_unique("question", (sample.id for sample in samples))
    _check_unique("chunk", (chunk.chunk_id for chunk in chunks))
    known = {chunk.chunk_id for chunk in chunks}
    sources = {document.doc_id for document in documents}
    for sample in samples:
        if not sample.question.strip() or not sample.answer.strip():
            raise InputError(f"sample {sample.id} has no question or no answer")
        if not sample.retrieval_gt or not all(sample.retrieval_gt):
            raise InputError(f"sample {sample.id} has no ground-truth chunk")
        missing = [name for group in sample.retrieval_gt for name in group if name not in known]
        if missing:
            raise InputError(f"sample {sample.id} rests on chunk {missing[0]}, which the run does not hold")
    for chunk in chunks:
        if chunk.doc_id not in sources:
            raise InputError(f"chunk {chunk.chunk_id} belongs to document {chunk.doc_id}, which is missing")
        if not chunk.text.strip():
            raise InputError(f"chunk {chunk.chunk_id} is empty")


def _check_unique(kind: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InputError(f"the {kind} id {name} occurs twice")
        seen.add(name)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


EXPORT = Export("autorag", "qa.parquet and corpus.parquet", export_autorag)
