"""The journal of a run: finished language model calls by digest, which make a resume free."""

import json
import math
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, StrictInt

from groundset.runs.database import Database

CALLS_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (digest TEXT PRIMARY KEY, record TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    evaluated_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID
"""
# Of one call: no model reads a billion of them, and the sum over all calls has to stay a number of 64 bits.
_MOST_TOKENS = 10**9
_Tokens = Annotated[StrictInt, Field(ge=0, le=_MOST_TOKENS)]


class _Said(BaseModel):
    text: str
    finish_reason: str | None
    logprobs: list[tuple[str, float, list[tuple[str, float]]]] | None


class _Call(BaseModel):
    response: _Said
    prompt_tokens: _Tokens
    evaluated_tokens: _Tokens
    completion_tokens: _Tokens


class CallTotals(NamedTuple):
    """What all language model calls of a run took, over all processes that worked on it."""

    calls: int
    prompt_tokens: int
    evaluated_tokens: int
    completion_tokens: int
    seconds: float


class CallTable:
    """The journal: finished language model calls by digest."""

    def __init__(self, database: Database) -> None:
        """Use the table in ``database``."""
        self._database = database

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        return next(self._database.read(_call, "SELECT record FROM calls WHERE digest = ?", (digest,)), None)

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call; it is committed when this returns."""
        columns = ("prompt_tokens", "evaluated_tokens", "completion_tokens", "seconds")
        self._database.execute(
            "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)",
            (digest, json.dumps(record, ensure_ascii=False), *(record[column] for column in columns)),
        )

    def totals(self) -> CallTotals:
        """Return the sums over all calls."""
        [row] = self._database.read(
            _totals,
            "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(evaluated_tokens), 0), "
            "coalesce(sum(completion_tokens), 0), coalesce(sum(seconds), 0.0) FROM calls",
        )
        return row


def _call(record: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record)
    _Call.model_validate(found)
    return found


def _totals(*row: Any) -> CallTotals:
    totals = CallTotals(*row)
    if not math.isfinite(totals.seconds):
        raise ValueError("calls that took for ever")
    return totals
