"""The journal of compiles and judgements: finished language model calls in a file beside what they make."""

from pathlib import Path
from types import TracebackType
from typing import Any

from groundset.store.calls import CALLS_SCHEMA, CallTable
from groundset.store.database import Database
from programs.errors import InputError


class CallFile:
    """Finished calls in one SQLite file, so that what was interrupted pays for none twice.

    The file is opened, or made, on entering: a model that cannot be opened leaves nothing behind.
    """

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self._path = path

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        return self._calls.get(digest)

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call; it is committed when this returns."""
        self._calls.put(digest, record)

    def __enter__(self) -> "CallFile":
        """Open the file, or make it.

        Raises:
            InputError: its folder cannot be made.
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
        """Delete the closed file, once what the calls were made for is written."""
        self._path.unlink(missing_ok=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._database.close()
