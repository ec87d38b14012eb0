"""The parts of a run: parquet files in its folder ``corpus`` with the bulk of a large corpus.

The table ``parts`` is their manifest, with the SHA-256 of each. A part is written first and entered last, in the
transaction that removes its values from another table, so that a killed process leaves them in one of the two.

Parts are never changed. They are read in a child process with a memory limit, because parquet from others may
decompress to any size.
"""

import atexit
import hashlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.files import whole_file
from groundset.store.database import Database
from groundset.store.folder import check_part, part_path
from groundset.store.part_files import Row, write_part
from programs.errors import DamagedRunError, InputError, RunError

PartKind = Literal["documents", "chunks", "reading", "vector"]
VERSION_WITH_PARTS = 3  # of databases with parts; others have 2, which earlier versions of groundset can open
PARTS_SCHEMA = (
    """CREATE TABLE parts (kind TEXT NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    rows INTEGER NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (kind, number)) WITHOUT ROWID""",
    "CREATE TABLE gathered_reading (position INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE gathered_vector (position INTEGER PRIMARY KEY, value BLOB NOT NULL)",
)
PART_BYTES = 4 << 20  # of the values of a part, which are in memory while it is written or read
_Row = TypeVar("_Row", bound=tuple[Any, ...])
_COMPUTED = ("reading", "vector")
_SECONDS = 60.0

# One for all runs: it takes half a second to start. It ends with this process.
_reader = BoundedProcess("groundset.store.part_files:read_part", Limits(memory_mb=1024, output_mb=512))
_reading = Lock()
atexit.register(_reader.end)


class Part(NamedTuple):
    """A part, with the range of its positions.

    Attributes:
        kind: what its values are; with the number the name of its file.
        first, last: the lowest and the highest position.
    """

    kind: PartKind
    number: int
    first: int
    last: int
    rows: int
    sha256: str


class PartTable:
    """Writes and reads parts."""

    def __init__(self, database: Database, folder: Path) -> None:
        """Use the table in ``database``, and the files in the folder of a run."""
        self._database = database
        self._folder = folder

    def all(self, kind: PartKind | None = None) -> list[Part]:
        """Return the parts, or those of a kind, in order."""
        if not self._database.has_table("parts"):
            return []
        rows = self._database.read(_part, "SELECT kind, number, first, last, rows, sha256 FROM parts ORDER BY 1, 2")
        return [part for part in rows if kind in (None, part.kind)]

    def write(self, kind: PartKind, rows: Sequence[Row]) -> Part:
        """Write a part without entering it; a file that a killed process did not enter is replaced.

        Raises:
            RunError: it cannot be written.
        """
        number = max((part.number for part in self.all(kind)), default=-1) + 1
        try:
            with whole_file(part_path(self._folder, kind, number), follow=False) as aside:
                sha256 = write_part(aside, rows)
        except InputError as error:
            raise RunError(str(error)) from error
        positions = [position for position, _ in rows]
        return Part(kind, number, min(positions), max(positions), len(rows), sha256)

    def enter(self, part: Part) -> None:
        """Enter a part; call this in a transaction."""
        if not self._database.has_table("parts"):
            for statement in PARTS_SCHEMA:
                self._database.execute(statement)
            self._database.execute(f"PRAGMA user_version = {VERSION_WITH_PARTS}")
        self._database.execute("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?)", part)

    def remove(self, part: Part) -> None:
        """Remove a part from the table; call this in a transaction."""
        self._database.execute("DELETE FROM parts WHERE kind = ? AND number = ?", (part.kind, part.number))

    def texts(self, part: Part) -> dict[int, str]:
        """Return the texts of a part by position.

        Raises:
            DamagedRunError: it is missing, altered or invalid.
        """
        positions, found = self._read(part)
        texts = found.get("texts")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.damaged(part)
        return dict(zip(positions, texts, strict=True))

    def vectors(self, part: Part) -> tuple[list[int], NDArray[np.float32]]:
        """Return the positions and the vectors of a part, a row for each.

        Raises:
            DamagedRunError: it is missing, altered or invalid.
        """
        positions, found = self._read(part)
        numbers = np.frombuffer(b64decode(found.get("vectors", "")), dtype="<f4")
        if not numbers.size or numbers.size % part.rows or not np.isfinite(numbers).all():
            raise self.damaged(part)
        return positions, numbers.reshape(part.rows, -1)

    def positions(self, part: Part) -> list[int]:
        """Return the positions of a part."""
        return self._read(part)[0]

    def is_whole(self, part: Part) -> bool:
        """Return whether the file of a part is there and unaltered."""
        file = self.path(part)
        try:
            check_part(file)
            with file.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest() == part.sha256
        except FileNotFoundError:
            return False
        except OSError as error:
            raise RunError(f"{file} cannot be read: {error.strerror or error}") from error

    def damaged(self, part: Part) -> DamagedRunError:
        """Return the error for a part that cannot be used; it names the file and the fix."""
        file = self.path(part)
        how = "is damaged" if file.exists() else "is missing"
        fix = "copy the whole folder of the run again, or start again in another one"
        if self.can_be_computed(part):
            fix = "the `groundset generate` command that made the run computes it again"
        return DamagedRunError(f"{file} {how}; {fix}")

    def path(self, part: Part) -> Path:
        """Return the file of a part."""
        return part_path(self._folder, part.kind, part.number)

    def can_be_computed(self, part: Part) -> bool:
        """Return whether continuing the run computes the values of a part again; derived runs cannot be continued."""
        derived = self._database.execute("SELECT 1 FROM meta WHERE name = 'lineage' AND value != 'null'")
        return part.kind in _COMPUTED and not derived

    def _read(self, part: Part) -> tuple[list[int], dict[str, Any]]:
        file = self.path(part)
        try:
            check_part(file)
            found = _read_in_child(file, part.sha256)
        except (FileNotFoundError, LimitError, RuntimeError) as error:
            raise self.damaged(part) from error
        except OSError as error:
            raise RunError(f"{file} cannot be read: {error.strerror or error}") from error
        positions = found.get("positions", [])
        if len(set(positions)) != part.rows or (min(positions), max(positions)) != (part.first, part.last):
            raise self.damaged(part)
        return positions, found


def _read_in_child(file: Path, sha256: str) -> dict[str, Any]:
    with _reading:
        try:
            found: dict[str, Any] = _reader({"file": str(file.absolute()), "sha256": sha256}, _SECONDS)
        except BaseException:
            _reader.end()  # after Ctrl-C, its answer would be taken for that to the next call
            raise
    return found


def _part(*row: Any) -> Part:
    """Parse a row of the table.

    Raises:
        ValueError: it is none of a part.
    """
    part = Part(*row)
    if part.kind not in get_args(PartKind) or part.number < 0 or part.rows < 1:
        raise ValueError("not a part")
    return part


def is_due(size: int) -> bool:
    """Return whether values of this size fill a part."""
    return size >= PART_BYTES


def batches(rows: Iterable[_Row]) -> Iterator[tuple[list[_Row], bool]]:
    """Yield rows in batches as large as a part, and whether a batch is full; their last field is the value."""
    batch: list[_Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row[-1])
        if size >= PART_BYTES:
            yield batch, True
            batch, size = [], 0
    if batch:
        yield batch, False
