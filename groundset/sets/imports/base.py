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
    """A chunk as somebody else's set holds it.

    Attributes:
        where: its file and row.
        chunk_id, text: as they are.
        source: the id of its document, None if the set names none.
        path, title, headings: those of its document, as far as they are told; a title that is told may be empty.
        span: its offsets in the text of its document, if they are told.
        modified: when its document was last modified.
        metadata: what else the set says of it.
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
    """A question as somebody else's set holds it.

    Attributes:
        where: its file and row.
        question_id, question: as they are.
        answer: empty if the set has none.
        groups: the chunks that it needs: any one of a group will do.
        evolution, language, split: as far as they are told.
        probability, trail: what critics said of it, if this is known.
        metadata: what else the set says of it.
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
        pieces: all of its corpus, in order.
        asked: its questions, in order.
        corpus: the file that the corpus comes from.
        files: all files that it comes from, with how many questions each holds.
        notes: what was left out, a sentence each.
    """

    pieces: Sequence[ForeignChunk]
    asked: Sequence[ForeignQuestion]
    corpus: Path
    files: Sequence[tuple[Path, int]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ImportFormat:
    """One row of the table. The command line reads it for its help, so nothing heavy is imported with it.

    Attributes:
        name: what the command line calls it.
        about: the files that it reads, in a few words.
        knows: says whether files that were named can only be of this format.
        read: reads them; a file or a folder that was named exists.
    """

    name: str
    about: str
    knows: Callable[[Sequence[Path]], bool]
    read: Callable[[Sequence[Path]], ForeignSet]


def listed(paths: Sequence[Path]) -> list[Path]:
    """Return the files that are named, and those in folders that are, sorted; hidden ones are passed over.

    Raises:
        InputError: there is no such file or folder, or it cannot be read.
    """
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
    """Return what to call several files or folders in a message."""
    return " and ".join(map(str, paths))
