"""The journal of a run: finished language model calls by digest, so that a continued run repeats none.

A separate judging model has its own table, which is created only if there is one.
"""

import json
import math
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

    def totals(self) -> CallTotals:
        """Return the sums over all calls; zeros if the run has no such table."""
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (self._name,)):
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
