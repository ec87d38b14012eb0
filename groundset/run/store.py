"""The database of a run: four tables.

| table | what it holds |
|---|---|
| calls | responses by the digest of their request, for a run that goes on |
| attempts | every finished attempt: its chunks, what was wanted, and what came of it |
| reviews | verdicts of reviewers; of several by one reviewer on one sample the last counts |
| meta | configuration, models, time and tokens, each as JSON |

Every result is committed as it happens. The log is write-ahead with ``synchronous = NORMAL``: a
killed process loses no commit; a power cut can lose the last ones, but the file stays valid.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from groundset.files import json_text, whole_file
from groundset.programs.errors import InputError, RunError
from groundset.programs.types import Reject, Sample, StepRecord
from groundset.run.folder import DATABASE, check_links, check_run, damaged, locked

REFUSED = "refused"  # the step of a lost sample that a reviewer had refused
State = Literal["accepted", "surplus", "unsure", "refused"]
_Value = TypeVar("_Value")
_APPLICATION, _VERSION = (
    0x67727364,
    20,
)  # "grsd" in the header of the file; 0.1 wrote versions below 20
_SCHEMA = {
    "calls": "CREATE TABLE calls (key TEXT PRIMARY KEY, response TEXT NOT NULL) WITHOUT ROWID",
    "attempts": (
        "CREATE TABLE attempts (number INTEGER PRIMARY KEY, chunks TEXT NOT NULL, wanted TEXT NOT"
        " NULL, state TEXT NOT NULL, result TEXT NOT NULL, vector BLOB)"
    ),
    "reviews": (
        "CREATE TABLE reviews (number INTEGER PRIMARY KEY, sample_id TEXT NOT NULL, reviewer TEXT"
        " NOT NULL, verdict TEXT NOT NULL, reasons TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT"
        " NULL)"
    ),
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
}
# Codes of SQLite that do not mean that the file is damaged.
_OUTSIDE = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_PERM,
)


class Result(BaseModel):
    """What came of an attempt: a sample or none, what was refused, and what each step said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Sample | None = None
    rejects: tuple[Reject, ...] = ()
    trail: tuple[StepRecord, ...] = ()  # empty if the sample holds it
    exhausted: bool = False  # nothing more can be asked of these chunks

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """Return what each step said."""
        return self.sample.trail if self.sample else self.trail

    def refused(self, step: str, reason: str) -> Self:
        """Return the result with its sample refused."""
        sample = self.sample
        assert sample is not None
        reject = Reject(
            step=step,
            reason=reason,
            question=sample.question,
            probability=sample.probability,
            chunk_id=sample.contexts[0].chunk_id,
        )
        known = {"rejects": (*self.rejects, reject), "trail": self.steps, "sample": None}
        return self.model_copy(update=known)


class Attempt(NamedTuple):
    """A finished attempt; ``vector`` is the embedding of its question.

    A good question is ``accepted``, or ``surplus`` while the run does not ask for more of its
    evolution; one of the user's own is ``unsure`` until a person settles it.
    """

    number: int
    chunks: tuple[str, ...]
    wanted: tuple[str, ...]
    state: State
    result: Result
    vector: np.ndarray | None = None


class Review(BaseModel):
    """The verdict of a reviewer on a sample, with names of reasons and a note; ``at`` is in UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample_id: str
    reviewer: str
    verdict: Literal["signed", "refused"]
    reasons: tuple[str, ...] = ()
    note: str = ""
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class Store(AbstractContextManager["Store"]):
    """The opened database of a run; any thread may use it.

    Raises:
        RunError: from every method, if the file is damaged or cannot be read or written; the
            message names it.
    """

    def __init__(
        self, path: Path, *, read_only: bool = False, lock: FileLock | None = None
    ) -> None:
        """Open the file, which is made if it is missing; a run is opened with one of the class
        methods.
        """
        self.path, self._lock, self._read_only = path, lock, read_only
        self._using = threading.RLock()
        # A reader may have to finish what a killed process left, where it can.
        mode = "rwc" if not read_only else "rw" if os.access(path, os.W_OK) else "ro"
        address = f"{path.absolute().as_uri()}?mode={mode}"
        with self._guarded():
            self._connection = sqlite3.connect(
                address, uri=True, check_same_thread=False, isolation_level=None, timeout=5
            )
        for setting in (
            "trusted_schema = OFF",
            "cell_size_check = ON",
            f"query_only = {int(read_only)}",
        ):
            self._execute(f"PRAGMA {setting}")

    @classmethod
    def create(cls, folder: Path, meta: Mapping[str, Any]) -> Self:
        """Begin a run in a folder, with values of ``meta``, and lock it.

        Raises:
            RunError: another process works on it, or it cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        check_links(folder)
        lock = locked(folder)
        try:
            if (folder / DATABASE).exists():
                raise RunError(
                    f"another process has begun a run in {folder}; run the same command again"
                )
            with (
                whole_file(folder / DATABASE, follow=False) as aside,
                cls(aside) as store,
                store.transaction(),
            ):
                for statement in _SCHEMA.values():
                    store._execute(statement)
                store._execute(f"PRAGMA application_id = {_APPLICATION}")
                store._execute(f"PRAGMA user_version = {_VERSION}")
                for key, value in meta.items():
                    store.set_meta(key, value)
        finally:
            lock.release()
        return cls.open(folder)

    @classmethod
    @contextmanager
    def for_calls(cls, file: Path) -> Iterator[Self]:
        """Open a file of finished calls and values alone, which several processes may use; it is
        there only if it holds calls.
        """
        file.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack, closing(cls(file)) as store:
            for table in ("calls", "meta"):
                store._execute(_SCHEMA[table].replace("TABLE", "TABLE IF NOT EXISTS"))
            try:
                yield store
            finally:
                if not store._execute("SELECT 1 FROM calls LIMIT 1"):
                    stack.callback(file.unlink, missing_ok=True)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run to continue it, and lock it.

        Raises:
            InputError: the folder holds no run, or one of another version.
            RunError: another process works on it, or it is damaged.
        """
        check_run(folder)
        lock = locked(folder)
        try:
            return cls(folder / DATABASE, lock=lock)._checked()
        except BaseException:
            lock.release()
            raise

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Open a run for reading, whether or not a process works on it.

        Raises:
            InputError: the folder holds no run, or one of another version.
            RunError: it is damaged.
        """
        check_run(folder)
        return cls(folder / DATABASE, read_only=True)._checked()

    def _checked(self) -> Self:
        """Return the store if it is that of a run; what is not is left as it is."""
        try:
            if self._execute("PRAGMA application_id") != [(_APPLICATION,)]:
                raise InputError(f"{self.path} was not made by groundset")
            if (version := self._execute("PRAGMA user_version")[0][0]) != _VERSION:
                other = "groundset 0.1" if version < _VERSION else "a later version of groundset"
                raise InputError(
                    f"{self.path} was made by {other}, which this version cannot read; make it anew"
                )
            if (
                dict(self._execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
                != _SCHEMA
            ):
                raise damaged(self.path, "other tables than those of a run")
            # Reads every page once: afterwards no crafted page can make a query endless.
            if self._execute("PRAGMA quick_check(1)") != [("ok",)]:
                raise damaged(self.path)
            if not self._read_only:
                self._execute("PRAGMA journal_mode = WAL")
                self._execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Merge the log into the file where that is possible, close it, and release the lock."""
        with self._using:
            if not self._read_only:
                # another process reads it, or the disk is full: the log stays
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.close()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block, or none."""
        with self._guarded(), self._connection:
            self._execute("BEGIN IMMEDIATE")
            yield

    def get(self, key: str) -> str | None:
        """Return the response of a finished call, None if it was not made."""
        found = self._execute("SELECT response FROM calls WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def put(self, key: str, response: str) -> None:
        """Keep the response of a finished call; it is committed when this returns."""
        self._execute("INSERT OR REPLACE INTO calls VALUES (?, ?)", (key, response))

    def usage(self) -> dict[str, Any]:
        """Return the number of finished calls, and the sums of their tokens and seconds."""
        names = ("prompt_tokens", "cached_tokens", "generated_tokens", "seconds")
        sums = (f"coalesce(sum(json_extract(response, '$.{name}')), 0)" for name in names)
        [found] = self._execute(f"SELECT count(*), {', '.join(sums)} FROM calls")
        return dict(zip(("calls", *names), found, strict=True))

    def meta(self, key: str) -> Any:
        """Return the value of a key, None if there is none."""
        found = self._parsed(json.loads, "SELECT value FROM meta WHERE key = ?", (key,))
        return found[0] if found else None

    def set_meta(self, key: str, value: Any) -> None:
        """Keep a JSON value under a key."""
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json_text(value)))

    def attempts(self) -> list[Attempt]:
        """Return all finished attempts in their order."""
        return self._parsed(
            _attempt,
            "SELECT number, chunks, wanted, state, result, vector FROM attempts ORDER BY number",
        )

    def add_attempt(self, attempt: Attempt) -> None:
        """Keep a finished attempt; it is committed on return, unless a transaction is open."""
        vector = None if attempt.vector is None else attempt.vector.astype(np.float32).tobytes()
        lists = json_text(attempt.chunks), json_text(attempt.wanted)
        values = (attempt.number, *lists, attempt.state, attempt.result.model_dump_json(), vector)
        self._execute("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)", values)

    def promote(self, numbers: Iterable[int]) -> None:
        """Accept attempts that were surplus."""
        these = ", ".join(map(str, numbers))
        self._execute(f"UPDATE attempts SET state = 'accepted' WHERE number IN ({these})")

    def settle(self, sample: Sample) -> None:
        """Accept a sample in the place of the one that has its id."""
        self._execute(
            "UPDATE attempts SET state = 'accepted', result = ?"
            " WHERE json_extract(result, '$.sample.id') = ?",
            (Result(sample=sample).model_dump_json(), sample.id),
        )

    def reviews(self) -> list[Review]:
        """Return all reviews in the order in which they were given."""
        return self._parsed(
            _review,
            "SELECT sample_id, reviewer, verdict, reasons, note, at FROM reviews ORDER BY number",
        )

    def add_review(self, review: Review) -> None:
        """Keep a review; it is committed when this returns."""
        values = review.model_dump(mode="json") | {"reasons": json_text(review.reasons)}
        statement = "INSERT INTO reviews VALUES (NULL, ?, ?, ?, ?, ?, ?)"
        self._execute(statement, tuple(values.values()))

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._guarded():
            return self._connection.execute(statement, values).fetchall()

    def _parsed(
        self, parse: Callable[..., _Value], statement: str, values: tuple[Any, ...] = ()
    ) -> list[_Value]:
        """Return what a function makes of each row that a statement finds."""
        rows = self._execute(statement, values)
        try:
            return [parse(*row) for row in rows]
        # Of pydantic, JSON, NumPy and unpacking; JSON nested too deep is a RecursionError.
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(self.path, "a stored value is invalid") from error

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._using:
            try:
                yield
            except sqlite3.Error as error:
                # Without a code it is Python's: a stored text is not UTF-8.
                code = (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_CORRUPT) & 0xFF
                if code in _OUTSIDE:
                    raise RunError(
                        f"{self.path}: {error} (a full disk, or a file in use or read-only);"
                        " what was finished is kept"
                    ) from error
                raise damaged(self.path, str(error)) from error


def _attempt(
    number: int, chunks: str, wanted: str, state: Any, result: str, vector: bytes | None
) -> Attempt:
    parsed = Result.model_validate_json(result)
    if state not in (("refused",) if parsed.sample is None else ("accepted", "surplus", "unsure")):
        raise ValueError("a state does not fit its result")
    row = None if vector is None else np.frombuffer(vector, np.float32)
    return Attempt(number, tuple(json.loads(chunks)), tuple(json.loads(wanted)), state, parsed, row)


def _review(*row: Any) -> Review:
    values = dict(zip(Review.model_fields, row, strict=True))
    return Review.model_validate(values | {"reasons": json.loads(values["reasons"])})
