"""One SQLite file shared by the threads of one process.

It uses a write-ahead log with ``synchronous = NORMAL``: a killed process loses no commit. A power cut can lose the last
commits, but the file stays valid.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from programs.errors import DamagedRunError, RunError

Values = Sequence[Any]
Parsed = TypeVar("Parsed")

_DAMAGE = "it is damaged{}; keep a copy and start again in another folder"
_IO_ERRORS = {
    sqlite3.SQLITE_FULL: "the disk is full; finished work is stored: make room and run the same command again",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or created",
    sqlite3.SQLITE_BUSY: "another program has locked it",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_AUTH: "permission denied",
}
# Errors that stored values can cause: invalid JSON, sums beyond 64 bits, duplicate ids.
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG,
}  # fmt: skip


class Database:
    """A connection that any thread may use; one statement or transaction at a time.

    Every SQLite error becomes a ``RunError`` that names the file.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; unless ``read_only``, it is created if it is missing."""
        self.path = path
        self._read_only = read_only
        self._lock = threading.RLock()
        with self._guarded():
            self._connection = _reader(path) if read_only else _writer(path)

    def execute(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run one statement, commit it unless a transaction is open, and return its rows."""
        with self._guarded():
            return self._connection.execute(statement, values).fetchall()

    def insert(self, statement: str, rows: Iterator[Values]) -> None:
        """Run one statement for each row."""
        with self._guarded():
            self._connection.executemany(statement, rows)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def each(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query without holding them all in memory."""
        with self._guarded():
            cursor = self._connection.execute(statement, values)
        while True:
            with self._guarded():
                rows = cursor.fetchmany(200)
            if not rows:
                return
            yield from rows

    def read(self, parse: Callable[..., Parsed], statement: str, values: Values = ()) -> Iterator[Parsed]:
        """Yield the result of ``parse`` for each row of a query.

        Raises:
            DamagedRunError: a stored value is invalid.
        """
        for row in self.each(statement, values):
            try:
                parsed = parse(*row)
            # Pydantic and JSON raise ValueError; JSON nested too deep raises RecursionError.
            except (ValueError, TypeError, RecursionError) as error:
                raise self.damaged() from error
            yield parsed

    def damaged(self, how: str = "") -> DamagedRunError:
        """Return the error for a damaged file; ``how`` describes the damage in a few words."""
        return DamagedRunError(f"{self.path}: {_DAMAGE.format(how and f' ({how})')}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block, or none."""
        with self._lock:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.rollback()
                raise

    def close(self) -> None:
        """Merge the log into the file, if possible, and close it."""
        with self._guarded():
            if not self._read_only:
                # Fails if another process reads it, the disk is full or the file is damaged; the log then stays.
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.close()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> RunError:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and isinstance(error, sqlite3.OperationalError):
            return self.damaged("a text is not UTF-8")  # Python's own message contains the text
        primary = (code or 0) & 0xFF  # without the extended part
        if primary == sqlite3.SQLITE_NOTADB:
            return self.damaged("not an SQLite database")
        if primary == sqlite3.SQLITE_CONSTRAINT:
            return self.damaged(str(error))  # names a column, not a value
        return self.damaged() if primary in _DAMAGED else RunError(f"{self.path}: {_IO_ERRORS.get(primary, error)}")


def _writer(path: Path) -> sqlite3.Connection:
    connection = _careful(sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=2))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _reader(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro"
    return _careful(sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None))


def _careful(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Protect a connection to an untrusted file."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_STORED_AS = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real'", "BLOB": "'blob'"}
_VECTORS = "SELECT length(vector) FROM {} WHERE vector IS NOT NULL GROUP BY 1"
_BYTES = 4  # of a float32


def check_integrity(database: Database, schema: Sequence[str], later: Sequence[str]) -> None:
    """Check that a database has only the tables of a run, with values of the declared types.

    Args:
        database: the opened database.
        schema: the statements that create the required tables.
        later: the statements that create optional tables.

    Raises:
        DamagedRunError: a check failed; the message says which.
    """
    with closing(sqlite3.connect(":memory:")) as ours:
        for statement in schema:
            ours.execute(statement)
        needed = {row[1] for row in ours.execute(_OBJECTS)}
        for statement in later:
            ours.execute(statement)
        known = {row[1]: row for row in map(_plain, ours.execute(_OBJECTS))}
        columns = {name: ours.execute(f"PRAGMA table_info({name})").fetchall() for name in known}
    found = [_plain(row) for row in database.execute(_OBJECTS)]
    for row in found:
        if known.get(row[1]) != row:
            raise database.damaged(f"unexpected {row[0]} {row[1]}")
    names = {row[1] for row in found}
    if missing := needed - names:
        raise database.damaged(f"the table {min(missing)} is missing")
    # Reads every page once, which rules out endless queries on crafted pages.
    if database.execute("PRAGMA integrity_check(1)") != [("ok",)]:
        raise database.damaged()
    for name in sorted(names):
        other = " OR ".join(f"typeof({column}) NOT IN ({kinds})" for column, kinds in map(_kinds, columns[name]))
        if database.execute(f"SELECT 1 FROM {name} WHERE {other} LIMIT 1"):
            raise database.damaged(f"the table {name} has values of the wrong type")
    # An empty vector of a chunk is in a part.
    lengths = {length for (length,) in database.execute(_VECTORS.format("chunks"))} - {0}
    lengths.update(length for (length,) in database.execute(_VECTORS.format("samples")))
    if len(lengths) > 1 or any(length == 0 or length % _BYTES for length in lengths):
        raise database.damaged("vectors of different lengths")


def _plain(row: Sequence[Any]) -> tuple[str, ...]:
    """Return a statement of ``sqlite_master`` with its spaces normalised."""
    return tuple(" ".join(str(value).split()) for value in row)


def _kinds(column: Sequence[Any]) -> tuple[str, str]:
    """Return the name of a column, and its allowed value types."""
    _, name, declared, is_needed, _, in_key = column
    kinds = _STORED_AS[declared]
    return name, kinds if is_needed or in_key else f"{kinds}, 'null'"
