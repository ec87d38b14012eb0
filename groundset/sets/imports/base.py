"""What an import is: a format by its name, how its files are known, and what reads them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from programs.errors import InputError
from programs.types import StepRecord


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """A chunk of a set that was made elsewhere; what the set does not say is None.

    Attributes:
        where: its file and row, for messages.
        source: the id of its document.
        span: its offsets in the text of its document.
        modified: when its document was last modified.
        metadata: everything else that the set holds of it.
    """

    where: str
    chunk_id: str
    text: str
    source: str | None = None
    path: str | None = None
    title: str | None = None
    headings: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    modified: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A question of a set that was made elsewhere; what the set does not say is None.

    Attributes:
        where: its file and row, for messages.
        answer: empty if the set has none.
        groups: the chunks that it needs: any one of a group will do.
        metadata: everything else that the set holds of it.
    """

    where: str
    question_id: str
    question: str
    answer: str
    groups: tuple[tuple[str, ...], ...]
    evolution: str = "imported"
    language: str | None = None
    split: str | None = None
    probability: float | None = None
    trail: tuple[StepRecord, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForeignSet:
    """A set that was read.

    Attributes:
        chunks, questions: in the order of the set.
        corpus: the file that the corpus comes from.
        files: all files that it comes from, with how many questions each holds.
        notes: what was left out, a sentence each.
    """

    chunks: Sequence[ForeignChunk]
    questions: Sequence[ForeignQuestion]
    corpus: Path
    files: Sequence[tuple[Path, int]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ImportFormat:
    """A format: one row of the table, which the command line reads for its help, so its module imports nothing heavy.

    Attributes:
        name: the name on the command line.
        about: the files that it reads, in a few words.
        knows: returns whether files that were named can only be of this format.
        read: reads files and folders that exist.
    """

    name: str
    about: str
    knows: Callable[[Sequence[Path]], bool]
    read: Callable[[Sequence[Path]], ForeignSet]


def listed(paths: Sequence[Path]) -> list[Path]:
    """Return files, and the files in folders, sorted; hidden ones are left out."""
    found: list[Path] = []
    for path in paths:
        try:
            if not path.exists():
                raise InputError(f"no such file or folder: {path}")
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            found += [file for file in inside if file.is_file() and not file.name.startswith(".")]
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return list(dict.fromkeys(found))


def named(paths: Sequence[Path]) -> str:
    """Name several files or folders in a message."""
    return " and ".join(map(str, paths))
