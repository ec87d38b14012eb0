"""What an export is, and the rows and columns that several formats share."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from programs.errors import InputError
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    pass

_FILE_NAME = re.compile(r"\w[\w.-]{0,99}")


class Exported(NamedTuple):
    """How much an export wrote; no chunks where no format holds the corpus."""

    questions: int
    chunks: int


@dataclass(frozen=True)
class Export:
    """A format: one row of the table, which the command line reads for its help, so its module imports nothing heavy.

    Attributes:
        name: the name on the command line.
        about: the files that it writes, in a few words.
        write: writes a run that passed :func:`groundset.sets.exporting.check_set` into an empty folder, given both and
            its ``options``.
        files: glob patterns of what it writes (:func:`groundset.folders.check_own`); other files in its folder are
            never removed.
        last: the file or folder at the top that comes last where they can only be moved one by one.
        corpus: whether all chunks go out, or only those of questions.
        options: the options of `groundset export` that ``write`` takes as keyword arguments.
    """

    name: str
    about: str
    write: Callable[..., None]
    files: tuple[str, ...]
    last: str
    corpus: bool = True
    options: tuple[str, ...] = ()


def question_row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row: its texts, its chunks and files as lists of equal length, and how it was measured."""
    return {
        "id": sample.id,
        "question": sample.question,
        "answer": sample.answer,
        "evolution": sample.evolution,
        "kind": kind_of(sample),
        "language": sample.language,
        "split": sample.split,
        "contexts": [chunk.text for chunk in sample.contexts],
        "chunk_ids": [chunk.chunk_id for chunk in sample.contexts],
        "paths": [chunk.path for chunk in sample.contexts],
        "retrieval_gt": [list(group) for group in sample.retrieval_gt],
        "rank": sample.retrieval.rank,
        "probability": sample.probability,
    }


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as a row: its ids, where it stands, and its text."""
    return chunk.model_dump(mode="json", exclude={"metadata"})


def arrow_schema(*columns: str) -> Any:
    """Build the Arrow schema of some columns; each has one type in every format, even without a value."""
    import pyarrow as pa

    text, texts, whole = pa.string(), pa.list_(pa.string()), pa.int64()
    place = {**dict.fromkeys(("chunk_id", "doc_id", "path", "title"), text), "headings": texts, "start": whole}
    types = {
        **dict.fromkeys(("contexts", "chunk_ids", "paths", "headings"), texts),
        **dict.fromkeys(("rank", "score", "start", "end"), whole),
        "retrieval_gt": pa.list_(texts),
        "probability": pa.float64(),
        "provenance": pa.list_(pa.struct([*place.items(), ("end", whole)])),
    }
    return pa.schema([(name, types.get(name, text)) for name in columns])


def kind_of(sample: Sample) -> str | None:
    """Return the kind of thing that a question asks for, if that was noted."""
    kind = sample.metadata.get("kind")
    return None if kind is None else str(kind)


def relevant_ids(sample: Sample) -> list[str]:
    """Return the chunks that a question counts as found with, of all its groups, each once."""
    return list(dict.fromkeys(name for group in sample.retrieval_gt for name in group))


def as_file_name(split: str) -> str:
    """Return the name of a split if it can name a file."""
    if not _FILE_NAME.fullmatch(split):
        raise InputError(f"no file can be named after the split {split!r}; use letters, digits, - and _")
    return split


def write_json(file: Path, value: Any) -> None:
    """Write a value as indented JSON."""
    file.write_text(json.dumps(value, indent=1) + "\n", encoding="ascii", newline="\n")


def write_lines(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object in each line."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
