"""What a chunk that was brought along says of itself in its metadata, as AutoRAG's corpus tells it."""

import json
from collections.abc import Container, Sequence
from datetime import UTC, datetime
from typing import Any

from groundset.rows import is_missing
from programs.types import Chunk

_OWN = frozenset(("start_end_idx", "last_modified_datetime", "prev_id", "next_id", "title", "document_id"))


def span_of(chunk: Chunk) -> list[int] | None:
    """Return where a chunk stands in its document, as whoever cut it told; None if nobody knows."""
    said = chunk.metadata.get("start_end_idx", ...)
    is_span = isinstance(said, list) and [type(each) for each in said] == [int, int] and max(map(abs, said)) < 1 << 63
    return said if said is None or is_span else [chunk.start, chunk.end]


def time_of(chunk: Chunk) -> datetime | None:
    """Return the time that a chunk has for itself, in UTC without a zone; None if it is its document's."""
    said = chunk.metadata.get("last_modified_datetime")
    try:
        found = datetime.fromisoformat(said) if isinstance(said, str) else None
        return found.astimezone(UTC).replace(tzinfo=None) if found is not None and found.tzinfo else found
    except (ValueError, OverflowError):  # no time, or one before the year 1 in UTC
        return None


def neighbour_of(chunk: Chunk, name: str, derived: str | None, known: Container[str]) -> str | None:
    """Return the neighbour that a chunk names under ``name``, None among them, else what is derived."""
    said = chunk.metadata.get(name, derived)
    return said if said is None or (isinstance(said, str) and said in known) else derived


def brought_along(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """Return an Arrow column for each further key that some chunk has a value for, sorted by name.

    Values that no one type holds, as objects without keys, are JSON texts.
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
    texts = (json.dumps(value, ensure_ascii=False) for value in known)
    return pa.array([None if value is None else text for value, text in zip(known, texts, strict=True)])


def _can_be_written(kind: Any) -> bool:
    """Say whether parquet knows a type: it has no objects without keys."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_can_be_written(kind.field(place).type) for place in range(kind.num_fields))
    return _can_be_written(kind.value_type) if pa.types.is_list(kind) else True
