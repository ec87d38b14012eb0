"""What an export is: a format by its name, and what writes it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Exported(NamedTuple):
    """How much an export wrote."""

    questions: int
    chunks: int


@dataclass(frozen=True)
class Export:
    """One row of the table. The command line reads it for its help, so nothing heavy is imported with it.

    Attributes:
        name: what the command line calls it.
        about: the files that it writes, in a few words.
        write: takes samples, chunks, documents and the folder, and ``made_at``, when the run was made; see
            :func:`groundset.exports.autorag.export_autorag`.
    """

    name: str
    about: str
    write: Callable[..., Exported]
