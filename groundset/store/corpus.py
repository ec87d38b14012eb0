"""The corpus of a run: documents, and chunks with what is computed about them.

A small corpus, and that of a run of an earlier version, is in the tables ``documents`` and ``chunks``. The texts and
values of a large one are in parts (see :mod:`groundset.store.parts`): an empty value in the table stands for one in a
part, and of the record of a chunk only the path is kept. Computed values gather in a table until they fill a part.
"""

import json
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from groundset.files import json_text
from groundset.store.database import Database
from groundset.store.parts import PartTable, batches, is_due
from groundset.store.tables import Vectors, as_vector
from programs.types import Chunk, Context, Document, StepRecord

ChunkColumn = Literal["vector", "reading", "score"]
# Stand for values that are gathered or in a part.
_LEFT: Mapping[Literal["reading", "vector"], str] = {"reading": "''", "vector": "x''"}
_Kind = Literal["documents", "chunks"]
_CHUNKS = "SELECT position, chunk_id, record FROM chunks"
_CONTEXTS = "SELECT position, chunk_id, record, reading, score FROM chunks"


class CorpusTable:
    """Reads and writes the corpus of a run."""

    def __init__(self, database: Database, folder: Path) -> None:
        """Use the tables in ``database``, and the parts in the folder of a run."""
        self._database = database
        self._parts = PartTable(database, folder)
        self._texts_of = lru_cache(maxsize=4)(self._parts.texts)
        self._parts_of = cache(self._parts.all)
        self._size = dict.fromkeys(_LEFT, 0)  # of the values that this process gathered

    def fill(self, documents: Iterable[Document], chunks: Iterable[Chunk]) -> None:
        """Store the corpus of a new run; call this in a transaction."""
        self._fill("documents", "doc_id", ((each.doc_id, "", each.model_dump_json()) for each in documents))
        chunk_rows = ((each.chunk_id, json_text({"path": each.path}), each.model_dump_json()) for each in chunks)
        self._fill("chunks", "chunk_id", chunk_rows)

    def size(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks."""
        [(documents, chunks)] = self._database.execute(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
        )
        return documents, chunks

    def documents(self) -> Iterator[Document]:
        """Yield the documents, in order."""
        yield from self._database.read(
            self._document, "SELECT position, doc_id, record FROM documents ORDER BY position"
        )

    def document(self, doc_id: str) -> Document | None:
        """Return a document, None if it is not in the run."""
        statement = "SELECT position, doc_id, record FROM documents WHERE doc_id = ?"
        return next(self._database.read(self._document, statement, (doc_id,)), None)

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks, in order."""
        yield from self._database.read(self._chunk, f"{_CHUNKS} ORDER BY position")

    def chunks_missing(self, column: ChunkColumn) -> Iterator[Chunk]:
        """Yield the chunks without a value in a column, in order."""
        yield from self._database.read(self._chunk, f"{_CHUNKS} WHERE {column} IS NULL ORDER BY position")

    def chosen_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks in the order of their ids; unknown ids are skipped."""
        statement = f"{_CHUNKS} WHERE chunk_id IN ({', '.join('?' * len(ids))}) ORDER BY position"
        found = {chunk.chunk_id: chunk for chunk in self._database.read(self._chunk, statement, ids)}
        return [found[name] for name in ids if name in found]

    def is_missing(self, column: ChunkColumn) -> bool:
        """Return whether a chunk has no value in a column."""
        return bool(self._database.execute(f"SELECT 1 FROM chunks WHERE {column} IS NULL LIMIT 1"))

    def contexts(self) -> dict[str, Context]:
        """Return the analysed chunks by id, in order."""
        ids = self._database.execute("SELECT chunk_id FROM chunks WHERE reading IS NOT NULL ORDER BY position")
        found = {context.chunk.chunk_id: context for context in self._contexts()}
        if len(found) < len(ids):
            raise self._database.damaged("chunks without an analysis")
        return {name: found[name] for (name,) in ids}

    def vectors(self) -> Vectors:
        """Return the vectors of all chunks, a row for each."""
        _, size = self.size()
        if not size:
            raise self._database.damaged("it has no chunks")
        found: Vectors | None = None
        is_missing = np.ones(size, dtype=bool)
        for positions, vectors in self._vectors():
            found = np.empty((size, vectors.shape[1]), np.float32) if found is None else found
            if vectors.shape[1] != found.shape[1] or not 0 <= min(positions) <= max(positions) < size:
                raise self._database.damaged("vectors of different lengths")
            found[positions], is_missing[positions] = vectors, False
        if found is None or is_missing.any():
            raise self._database.damaged("chunks without a vector")
        return found

    def store(self, column: ChunkColumn, values: Iterable[tuple[str, str | bytes]]) -> None:
        """Store values of a column by chunk id; call this in a transaction, and :meth:`move` after it.

        In a large corpus, values that are stored already stay as they are.
        """
        if column == "score" or not self._parts_of("chunks"):
            pairs = ((value, chunk_id) for chunk_id, value in values)
            self._database.insert(f"UPDATE chunks SET {column} = ? WHERE chunk_id = ?", pairs)
            return
        stored = list(values)
        gathered = f"SELECT position, ? FROM chunks WHERE chunk_id = ? AND {column} IS NULL"
        rows = ((value, chunk_id) for chunk_id, value in stored)
        self._database.insert(f"INSERT INTO gathered_{column} {gathered}", rows)
        ids = ((chunk_id,) for chunk_id, _ in stored)
        self._database.insert(f"UPDATE chunks SET {column} = {_LEFT[column]} WHERE chunk_id = ?", ids)
        self._size[column] += sum(len(value) for _, value in stored)

    def move(self, column: ChunkColumn) -> None:
        """Move gathered values of a column to parts, if there are enough of them."""
        if column == "score" or not is_due(self._size[column]):
            return
        self._size[column] = 0
        for batch, is_full in batches(self._gathered(column)):
            if is_full:
                part = self._parts.write(column, batch)
                moved = ((position,) for position, _ in batch)
                with self._database.transaction():
                    self._parts.enter(part)
                    self._database.insert(f"DELETE FROM gathered_{column} WHERE position = ?", moved)
            else:
                self._size[column] = sum(len(value) for _, value in batch)

    def mend(self) -> list[str]:
        """Forget the values of missing and damaged parts, which can be computed again, and return a line on each.

        Raises:
            DamagedRunError: they cannot be computed again.
        """
        lost = [part for part in self._parts.all() if not self._parts.is_whole(part)]
        for part in lost:
            if not self._parts.can_be_computed(part):
                raise self._parts.damaged(part)
        for column, left in _LEFT.items():
            if gone := [part for part in lost if part.kind == column]:
                rows = self._database.execute(f"SELECT position FROM chunks WHERE {column} = {left}")
                positions = {position for (position,) in rows} - {position for position, _ in self._gathered(column)}
                for part in self._parts.all(column):
                    if part not in gone:
                        positions.difference_update(self._parts.positions(part))
                with self._database.transaction():
                    for part in gone:
                        self._parts.remove(part)
                    forgotten = ((position,) for position in positions)
                    self._database.insert(f"UPDATE chunks SET {column} = NULL WHERE position = ?", forgotten)
                for part in gone:
                    self._parts.path(part).unlink(missing_ok=True)
        return [f"{self._parts.path(part)} is missing or damaged; its values are computed again." for part in lost]

    def _fill(self, kind: _Kind, id_column: str, items: Iterable[tuple[str, str, str]]) -> None:
        """Store items by their id, what their row keeps if they are in a part, and their record."""
        rows = ((position, *item) for position, item in enumerate(items))
        is_large = False
        for batch, is_full in batches(rows):
            is_large = is_large or is_full
            if is_large:
                self._parts.enter(self._parts.write(kind, [(position, record) for position, *_, record in batch]))
            self._database.insert(
                f"INSERT INTO {kind} (position, {id_column}, record) VALUES (?, ?, ?)",
                ((position, name, left if is_large else record) for position, name, left, record in batch),
            )

    def _gathered(self, column: str) -> list[tuple[int, Any]]:
        """Return the positions and values that are not in parts yet."""
        if not self._database.has_table("parts"):
            return []
        return self._database.execute(f"SELECT position, value FROM gathered_{column} ORDER BY position")

    def _record(self, kind: _Kind, position: int, stored: str) -> str:
        """Return the record of a document or a chunk: as it is stored in its row, or in a part."""
        parts = self._parts_of(kind)
        index = bisect(parts, position, key=lambda part: part.first) - 1
        if index < 0 or position > parts[index].last:
            return stored
        return self._texts_of(parts[index]).get(position, "")

    def _document(self, position: int, doc_id: str, record: str) -> Document:
        document = Document.model_validate_json(self._record("documents", position, record))
        if document.doc_id != doc_id:
            raise ValueError("a document has another id than its row")
        return document

    def _chunk(self, position: int, chunk_id: str, record: str) -> Chunk:
        chunk = Chunk.model_validate_json(self._record("chunks", position, record))
        if chunk.chunk_id != chunk_id:
            raise ValueError("a chunk has another id than its row")
        return chunk

    def _contexts(self) -> Iterator[Context]:
        """Yield the analysed chunks in any order."""
        rows = self._database.read(self._context, f"{_CONTEXTS} WHERE reading != ''")
        yield from filter(None, rows)
        gathered = dict(self._gathered("reading"))
        for readings in chain([gathered], map(self._parts.texts, self._parts.all("reading"))):
            rows = self._database.read(
                partial(self._context, readings=readings),
                f"{_CONTEXTS} WHERE reading = '' AND position BETWEEN ? AND ? ORDER BY position",
                (min(readings, default=0), max(readings, default=-1)),
            )
            yield from filter(None, rows)

    def _context(
        self,
        position: int,
        chunk_id: str,
        record: str,
        reading: str,
        score: str | None,
        readings: Mapping[int, str] | None = None,
    ) -> Context | None:
        """Build an analysed chunk from its columns; None if its analysis is not in ``readings``."""
        if readings is not None:
            if position not in readings:
                return None
            reading = readings[position]
        others = {
            "chunk": self._chunk(position, chunk_id, record),
            "score": None if score is None else StepRecord.model_validate_json(score),
        }
        return Context.model_validate({**json.loads(reading), **others})

    def _vectors(self) -> Iterator[tuple[list[int], Vectors]]:
        """Yield positions with their vectors, in any order."""
        # A running process moves vectors to parts, so those in tables are read first.
        tables = {"chunks": "vector", "gathered_vector": "value"}
        for table, column in tables.items():
            if self._database.has_table(table):
                statement = f"SELECT position, {column} FROM {table} WHERE {column} IS NOT x''"
                yield from self._database.read(_vector, statement)
        for part in self._parts.all("vector"):
            yield self._parts.vectors(part)


def _vector(position: int, stored: bytes) -> tuple[list[int], Vectors]:
    return [position], as_vector(stored)[None]
