"""What an export is: a format by its name, what it is handed, and what writes it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from groundset.run import Run


class Exported(NamedTuple):
    """How much an export wrote; no chunks where no format holds the corpus."""

    questions: int
    chunks: int


@dataclass(frozen=True)
class Export:
    """One row of the table. The command line reads it for its help, so nothing heavy is imported with it.

    Attributes:
        name: what the command line calls it.
        about: the files that it writes, in a few words.
        write: writes them into an empty folder, which becomes the user's once all of them are there. The run has
            passed :func:`groundset.sets.exporting.check_set`.
        files: glob patterns of what it writes (:func:`groundset.folders.check_own`); whatever else lies in its folder
            is not its own, and is never removed.
        last: the file or folder at the top that comes last where they can only be moved one by one.
        corpus: whether all chunks go out, or only those of questions.
    """

    name: str
    about: str
    write: Callable[["Run", Path], None]
    files: tuple[str, ...]
    last: str
    corpus: bool = True
