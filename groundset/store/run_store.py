"""The run store: the folder and SQLite file with everything about a run; of a large corpus, the bulk is in parts.

| table | what it holds |
|---|---|
| meta | identity, configuration, models, versions, skipped files, each as JSON |
| documents, chunks | the corpus in order; each chunk with its vector, analysis (column ``reading``) and score |
| parts | the manifest of the files with a large corpus, if it is large |
| gathered_reading, gathered_vector | analyses and vectors that do not fill a part yet, if there are parts |
| attempts | the plan of each attempt, its outcome and its verdict |
| steps | the record of every step, committed when its attempt ends |
| calls | finished language model calls by digest, which a continued run reuses |
| critic_calls | the calls of a separate judging model, if there is one |
| servers | counts of the servers of language models, if there are any |
| samples, rejects | accepted samples and rejects, in order of decision |
| reviews | verdicts of reviewers; created with the first review |
| sessions | one row for each process that worked on the run |
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

from groundset.files import json_text, whole_file
from groundset.store.calls import (
    CALLS_SCHEMA,
    CRITIC_CALLS,
    CRITIC_CALLS_SCHEMA,
    SERVERS_SCHEMA,
    CallTable,
    ServerTable,
)
from groundset.store.corpus import ChunkColumn, CorpusTable
from groundset.store.database import Database, check_integrity
from groundset.store.folder import FolderLock, check_files, database_path, make_folder, remove_leftover_corpus
from groundset.store.items import ItemTable
from groundset.store.meta import stored_meta
from groundset.store.parts import PARTS_SCHEMA, VERSION_WITH_PARTS
from groundset.store.reviews import REVIEWS_SCHEMA, ReviewTable
from groundset.store.tables import AttemptTable, ResultTable, Vectors
from programs.errors import DamagedRunError, InputError, RunError
from programs.types import Chunk, Context, Document, Reject

_APPLICATION = 0x67727364  # "grsd" in the file's header
_VERSION = 2
_SCHEMA = """CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (position INTEGER PRIMARY KEY, doc_id TEXT UNIQUE NOT NULL, record TEXT NOT NULL);
CREATE TABLE chunks (position INTEGER PRIMARY KEY, chunk_id TEXT UNIQUE NOT NULL, record TEXT NOT NULL,
    vector BLOB, reading TEXT, score TEXT);
CREATE TABLE attempts (number INTEGER PRIMARY KEY, contexts TEXT NOT NULL, wanted TEXT NOT NULL,
    round INTEGER NOT NULL, seed INTEGER NOT NULL, outcome TEXT, decided INTEGER NOT NULL DEFAULT 0,
    accepted TEXT, exhausted INTEGER, asked TEXT, put_off INTEGER);
CREATE TABLE steps (attempt INTEGER NOT NULL, seq INTEGER NOT NULL, step TEXT NOT NULL, candidate INTEGER NOT NULL,
    output TEXT NOT NULL, probability REAL, verdict TEXT, reason TEXT, PRIMARY KEY (attempt, seq)) WITHOUT ROWID;
CREATE TABLE samples (position INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, attempt INTEGER NOT NULL,
    record TEXT NOT NULL, vector BLOB NOT NULL);
CREATE TABLE rejects (position INTEGER PRIMARY KEY, attempt INTEGER, step TEXT NOT NULL,
    record TEXT NOT NULL);
CREATE TABLE sessions (number INTEGER PRIMARY KEY, started TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0)"""
_STATEMENTS = (*_SCHEMA.split(";\n"), CALLS_SCHEMA)


class RunStore:
    """The stored state of one run; safe to share between threads.

    Use as a context manager. Only one process can have it open for writing.

    Attributes:
        folder: the run folder.
        calls: the journal of language model calls.
        critic_calls: the journal of a separate judging model.
        servers: the counts of the servers of both.
        attempts: plans, steps, outcomes and verdicts.
        results: samples and rejects.
        reviews: reviews of samples and rejects.
        corpus: documents, and chunks with their columns.
        items: access to single samples, rejects, chunks and documents.
    """

    def __init__(self, folder: Path, database: Database, lock: FolderLock | None) -> None:
        """Wrap an open database; use ``create``, ``open`` or ``read`` instead."""
        self.folder = folder
        self.calls = CallTable(database)
        self.critic_calls = CallTable(database, CRITIC_CALLS)
        self.servers = ServerTable(database)
        self.attempts = AttemptTable(database)
        self.results = ResultTable(database)
        self.reviews = ReviewTable(database)
        self.corpus = CorpusTable(database, folder)
        self.items = ItemTable(database, self.corpus)
        self._database = database
        self._lock = lock
        self._storing = Lock()

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        meta: Mapping[str, Any],
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
    ) -> Self:
        """Create a run with its documents, chunks and metadata, atomically.

        Raises:
            InputError: the folder cannot be created, or holds other files.
            RunError: another process works on it, or it cannot be written.
        """
        make_folder(folder)
        lock = FolderLock(folder)
        path = database_path(folder)
        try:
            if path.exists():
                raise RunError(f"another process has just started a run in {folder}; choose another --out")
            remove_leftover_corpus(folder)
            with whole_file(path, follow=False) as aside, closing(Database(aside)) as database:
                cls(folder, database, lock)._fill(meta, documents, chunks)
            return cls(folder, Database(path), lock)
        except BaseException:
            remove_leftover_corpus(folder)
            lock.release()
            raise

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run to continue it.

        Raises:
            RunError: another process works on it, or it cannot be used.
        """
        lock = FolderLock(folder)
        try:
            store = cls(folder, Database(database_path(folder)), lock)
        except BaseException:
            lock.release()
            raise
        return store._checked()

    @classmethod
    def review(cls, folder: Path) -> Self:
        """Open a run to add reviews to it, whether or not a process is working on it.

        Raises:
            InputError: the folder holds no run, or cannot be written.
            RunError: another program has locked it, or the disk is full.
        """
        cls.read(folder).close()  # check it before writing anything
        path = database_path(folder)
        if not (os.access(folder, os.W_OK) and os.access(path, os.W_OK)):
            raise InputError(f"{folder} cannot be written, but reviews are stored in it; review a copy")
        store = cls(folder, Database(path), None)
        try:
            store.reviews.prepare()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def read(cls, folder: Path, *, check: bool = True) -> Self:
        """Open a run for reading, whether or not a process is working on it.

        ``check`` may be False only if the integrity of the database was checked before.

        Raises:
            InputError: the folder holds no run, or cannot be read.
        """
        try:
            found = database_path(folder).is_file()
        except OSError as error:
            raise InputError(f"{folder} cannot be read: {error.strerror}") from error
        if not found:
            reason = "is not the folder of a run: it has no run.sqlite" if folder.exists() else "does not exist"
            raise InputError(f"{folder} {reason}; name a folder made by `groundset generate`")
        check_files(folder)
        store = cls(folder, Database(database_path(folder), read_only=True), None)
        return store._checked() if check else store

    def close(self) -> None:
        """Close the file and release the lock."""
        try:
            self._database.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the store."""
        self.close()

    def _checked(self) -> Self:
        try:
            [(application,)] = self._database.execute("PRAGMA application_id")
            [(version,)] = self._database.execute("PRAGMA user_version")
            if application != _APPLICATION:
                raise InputError(f"{self._database.path} was not made by groundset")
            if version not in (_VERSION, VERSION_WITH_PARTS):
                raise InputError(f"{self._database.path} was made by another version of groundset")
            later = [REVIEWS_SCHEMA, CRITIC_CALLS_SCHEMA, SERVERS_SCHEMA, *PARTS_SCHEMA]
            check_integrity(self._database, _STATEMENTS, later)
        except BaseException:
            self.close()
            raise
        return self

    def _fill(self, meta: Mapping[str, Any], documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
        database = self._database
        with database.transaction():
            for statement in _STATEMENTS:
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
            self.corpus.fill(documents, chunks)
            for name, value in meta.items():
                self.set_meta(name, value)

    def meta(self, name: str) -> Any:
        """Return the value stored under a name, or None.

        Raises:
            DamagedRunError: the value is invalid.
        """
        statement = "SELECT name, value FROM meta WHERE name = ?"
        return next(self._database.read(stored_meta, statement, (name,)), None)

    def required(self, *path: str) -> Any:
        """Return a stored value that every run has, by its name and the keys inside it.

        Raises:
            DamagedRunError: the value is missing or invalid.
        """
        name, *keys = path
        value = self.meta(name)
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            raise self.damaged(f"missing metadata '{'.'.join(path)}'")
        return value

    def damaged(self, how: str) -> DamagedRunError:
        """Return the error for a damaged run; ``how`` describes the damage in a few words."""
        return self._database.damaged(how)

    def set_meta(self, name: str, value: Any) -> None:
        """Store a JSON value under a name."""
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json_text(value)))

    def replan(self, meta: Mapping[str, Any]) -> None:
        """Store values and drop undecided attempts, in one transaction."""
        with self._database.transaction():
            for name, value in meta.items():
                self.set_meta(name, value)
            self.attempts.forget_undecided()

    def documents(self) -> list[Document]:
        """Return the documents of the run."""
        return list(self.corpus.documents())

    def chunks(self) -> list[Chunk]:
        """Return all chunks of the run."""
        return list(self.corpus.chunks())

    def vectors(self) -> Vectors:
        """Return the embeddings of all chunks, a row for each."""
        return self.corpus.vectors()

    def chunks_missing(self, column: ChunkColumn) -> list[Chunk]:
        """Return the chunks without a value in a column."""
        return list(self.corpus.chunks_missing(column))

    def store_column(
        self, column: ChunkColumn, values: Iterable[tuple[str, str | bytes]], rejects: Sequence[Reject] = ()
    ) -> None:
        """Store values of a column by chunk id, vectors as bytes, the others as JSON; and rejected chunks."""
        with self._storing:
            with self._database.transaction():
                self.results.add_rejects(None, rejects)
                self.corpus.store(column, values)
            self.corpus.move(column)

    def contexts(self) -> dict[str, Context]:
        """Return the analysed chunks by id."""
        return self.corpus.contexts()

    def corpus_size(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks."""
        return self.corpus.size()

    def begin_session(self) -> int:
        """Start the session of a process, and return its number."""
        with self._database.transaction():
            started = datetime.now(UTC).isoformat(timespec="seconds")
            self._database.execute("INSERT INTO sessions (started) VALUES (?)", (started,))
            [(number,)] = self._database.execute("SELECT last_insert_rowid()")
        return int(number)

    def spend(self, session: int, seconds: float) -> None:
        """Store the duration of a session so far."""
        self._database.execute("UPDATE sessions SET seconds = ? WHERE number = ?", (round(seconds, 3), session))

    def spent(self) -> tuple[str | None, float]:
        """Return the start of the first session, if any, and the seconds of all."""
        [spent] = self._database.read(_spent, "SELECT min(started), total(seconds) FROM sessions")
        return spent


def _spent(started: str | None, seconds: float) -> tuple[str | None, float]:
    if started is not None:
        datetime.fromisoformat(started)
    if not math.isfinite(seconds):
        raise ValueError("the duration of the sessions is not finite")
    return started, seconds
