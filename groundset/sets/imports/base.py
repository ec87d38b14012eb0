"""The import row, and the chunks and questions that importers return."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from programs.errors import InputError
from programs.types import StepRecord


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """A chunk of an external set; unknown values are None.

    Attributes:
        where: file and row, for messages.
        source: id of the document.
        span: offsets in the document.
        modified: modification time of the document.
        metadata: all other values.
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
    """A question of an external set; unknown values are None.

    Attributes:
        where: file and row, for messages.
        answer: empty if the set has none.
        groups: needed chunks, any one of each group; empty if the question is unanswerable.
        sources: the chunks that an unanswerable question was made from.
        metadata: all other values.
    """

    where: str
    question_id: str
    question: str
    answer: str
    groups: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] = ()
    evolution: str = "imported"
    language: str | None = None
    split: str | None = None
    probability: float | None = None
    trail: tuple[StepRecord, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForeignSet:
    """An external set.

    Attributes:
        chunks, questions: in the order of the set.
        corpus: the file of the corpus.
        files: all files of the set, with their numbers of questions.
        notes: sentences on omitted rows.
    """

    chunks: Sequence[ForeignChunk]
    questions: Sequence[ForeignQuestion]
    corpus: Path
    files: Sequence[tuple[Path, int]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ImportFormat:
    """An import format. The help of the command line imports it, so its module imports nothing heavy.

    Attributes:
        name: the name on the command line.
        about: a short description of its files.
        matches: returns whether files look like this format.
        read: reads existing files and folders.
    """

    name: str
    about: str
    matches: Callable[[Sequence[Path]], bool]
    read: Callable[[Sequence[Path]], ForeignSet]


def listed(paths: Sequence[Path]) -> list[Path]:
    """Return files, and the sorted files in folders, without hidden ones."""
    files: list[Path] = []
    for path in paths:
        try:
            if not path.exists():
                raise InputError(f"no such file or folder: {path}")
            candidates = sorted(path.iterdir()) if path.is_dir() else [path]
            files += [file for file in candidates if file.is_file() and not file.name.startswith(".")]
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return list(dict.fromkeys(files))


def unanswerable_sources(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the chunks that an unanswerable question was made from, as groundset exports it; none for others."""
    ids = metadata.get("chunk_ids")
    return tuple(map(str, ids)) if metadata.get("answerable") is False and isinstance(ids, list) else ()


def named(paths: Sequence[Path]) -> str:
    """Join paths for a message."""
    return " and ".join(map(str, paths))


def text_digest(*texts: str) -> str:
    """Return a short id for texts that came without one."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
