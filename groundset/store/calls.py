"""The journal of a run: finished language model calls by digest, so that a continued run repeats none.

A separate judging model has its own table, which is created only if there is one.
"""

import json
import math
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, StrictInt

from groundset.store.database import Database
from programs.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS {} (digest TEXT PRIMARY KEY, record TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    evaluated_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID
"""
SERVERS_SCHEMA = """
CREATE TABLE IF NOT EXISTS servers (server TEXT PRIMARY KEY, calls INTEGER NOT NULL, failures INTEGER NOT NULL,
    seconds REAL NOT NULL) WITHOUT ROWID
"""
CALLS, CRITIC_CALLS = "calls", "critic_calls"
CALLS_SCHEMA, CRITIC_CALLS_SCHEMA = _SCHEMA.format(CALLS), _SCHEMA.format(CRITIC_CALLS)
# For one call; the sum over all calls must fit 64 bits.
_MOST_TOKENS = 10**9
_Tokens = Annotated[StrictInt, Field(ge=0, le=_MOST_TOKENS)]


class _Response(BaseModel):
    text: str
    finish_reason: str | None
    logprobs: list[tuple[str, float, list[tuple[str, float]]]] | None


class _Call(BaseModel):
    response: _Response
    prompt_tokens: _Tokens
    evaluated_tokens: _Tokens
    completion_tokens: _Tokens


class ServerCounts(NamedTuple):
    """The requests to one server, over all processes of a run.

    Attributes:
        server: its host and port, or the name of a hosted model.
        calls: the number of its answers, late ones included.
        failures: the number of requests that it did not answer, or not in time.
        seconds: the duration of its answers.
    """

    server: str
    calls: int
    failures: int
    seconds: float


class ServerTable:
    """The counts of the servers of language models."""

    def __init__(self, database: Database) -> None:
        """Use the table in ``database``."""
        self._database = database

    def count(self, server: str, *, calls: int, failures: int, seconds: float) -> None:
        """Add to the counts of a server; the table is created with the first."""
        self._database.execute(SERVERS_SCHEMA)
        self._database.execute(
            "INSERT INTO servers VALUES (?, ?, ?, ?) ON CONFLICT (server) DO UPDATE SET calls = calls + "
            "excluded.calls, failures = failures + excluded.failures, seconds = seconds + excluded.seconds",
            (server, calls, failures, seconds),
        )

    def counts(self) -> list[ServerCounts]:
        """Return the counts of all servers by name; none if the run has no such table."""
        if not self._database.has_table("servers"):
            return []
        return list(self._database.read(_server, "SELECT * FROM servers ORDER BY server"))


class CallTotals(NamedTuple):
    """Totals of the calls of a language model, over all processes of a run."""

    calls: int
    prompt_tokens: int
    evaluated_tokens: int
    completion_tokens: int
    seconds: float


class CallTable:
    """The journal: finished language model calls by digest."""

    def __init__(self, database: Database, name: str = CALLS) -> None:
        """Use the table of that name in ``database``."""
        self._database = database
        self._name = name

    def prepare(self) -> None:
        """Create the table if it is missing.

        Raises:
            RunError: the run cannot be written.
        """
        with self._database.transaction():
            self._database.execute(_SCHEMA.format(self._name))

    def digests(self) -> set[str]:
        """Return the digests of all finished calls."""
        return {digest for (digest,) in self._database.each(f"SELECT digest FROM {self._name}")}

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        return next(self._database.read(_call, f"SELECT record FROM {self._name} WHERE digest = ?", (digest,)), None)

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call; it is committed when this returns."""
        columns = ("prompt_tokens", "evaluated_tokens", "completion_tokens", "seconds")
        self._database.execute(
            f"INSERT OR IGNORE INTO {self._name} VALUES (?, ?, ?, ?, ?, ?)",
            (digest, json.dumps(record, ensure_ascii=False), *(record[column] for column in columns)),
        )

    def put_late(self, digest: str, record: dict[str, Any]) -> None:
        """Store a call that finished after the database was closed, if its file is still there."""
        if self._database.path.is_file():
            with closing(Database(self._database.path)) as database:
                CallTable(database, self._name).put(digest, record)

    def totals(self) -> CallTotals:
        """Return the sums over all calls; zeros if the run has no such table."""
        if not self._database.has_table(self._name):
            return CallTotals(0, 0, 0, 0, 0.0)
        [row] = self._database.read(
            _totals,
            "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(evaluated_tokens), 0), "
            f"coalesce(sum(completion_tokens), 0), coalesce(sum(seconds), 0.0) FROM {self._name}",
        )
        return row


def _call(record: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record)
    _Call.model_validate(found)
    return found


def _server(*row: Any) -> ServerCounts:
    counts = ServerCounts(*row)
    if not math.isfinite(counts.seconds):
        raise ValueError("the duration of the calls is not finite")
    return counts


def _totals(*row: Any) -> CallTotals:
    totals = CallTotals(*row)
    if not math.isfinite(totals.seconds):
        raise ValueError("the duration of the calls is not finite")
    return totals


class CallFile:
    """A journal in its own SQLite file, for commands without a run.

    The file is created on entering, after the model has been opened.
    """

    def __init__(self, path: Path) -> None:
        """Set the path; the file is opened on entering."""
        self._path = path

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        return self._calls.get(digest)

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call; it is committed when this returns."""
        self._calls.put(digest, record)

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        """Do nothing: only runs report on servers."""

    def __enter__(self) -> "CallFile":
        """Open or create the file.

        Raises:
            InputError: its folder cannot be created.
        """
        folder = self._path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--out {folder}: {error.strerror or error}") from error
        self._database = Database(self._path)
        self._database.execute(CALLS_SCHEMA)
        self._calls = CallTable(self._database)
        return self

    def remove(self) -> None:
        """Delete the closed file."""
        self._path.unlink(missing_ok=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._database.close()
