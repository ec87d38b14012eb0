"""The export row, and rows and columns shared by several formats."""

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
    """Numbers of exported questions and chunks; 0 chunks if no format includes the corpus."""

    questions: int
    chunks: int


@dataclass(frozen=True)
class Export:
    """An export format. The help of the command line imports it, so its module imports nothing heavy.

    Attributes:
        name: the name on the command line.
        about: a short description of its files.
        write: writes a run that passed :func:`groundset.sets.exporting.check_set` into an empty folder.
        files: glob patterns of its files (:func:`groundset.folders.check_own`); other files are never removed.
        last: the top-level file or folder that is moved last if they cannot all be replaced at once.
        corpus: whether all chunks are exported.
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
    """Return a sample as a row; the lists on its contexts have equal length."""
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
        "answerable": sample.answerable,
        "conversation": sample.conversation,
        "rank": sample.retrieval.rank,
        "probability": sample.probability,
    }


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as a row: ids, path, headings, offsets and text."""
    return chunk.model_dump(mode="json", exclude={"metadata"})


def arrow_schema(*columns: str) -> Any:
    """Build the Arrow schema of columns; types do not depend on the values."""
    import pyarrow as pa

    text, texts, whole = pa.string(), pa.list_(pa.string()), pa.int64()
    provenance = {**dict.fromkeys(("chunk_id", "doc_id", "path", "title"), text), "headings": texts, "start": whole}
    types = {
        **dict.fromkeys(("contexts", "chunk_ids", "paths", "headings"), texts),
        **dict.fromkeys(("rank", "score", "start", "end"), whole),
        "retrieval_gt": pa.list_(texts),
        "probability": pa.float64(),
        "provenance": pa.list_(pa.struct([*provenance.items(), ("end", whole)])),
        "answerable": pa.bool_(),
        "conversation": pa.list_(pa.struct([("role", text), ("content", text)])),
    }
    return pa.schema([(name, types.get(name, text)) for name in columns])


def kind_of(sample: Sample) -> str | None:
    """Return the kind of a question, if known."""
    kind = sample.metadata.get("kind")
    return None if kind is None else str(kind)


def other_answers(sample: Sample) -> list[str]:
    """Return the further reference answers of a sample: other wordings, or the other answers of an imported set."""
    # Sets imported by earlier versions have the key `other_answers`.
    found = sample.metadata.get("answer_variants", sample.metadata.get("other_answers"))
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def relevant_ids(sample: Sample) -> list[str]:
    """Return the distinct ids of all groups of ``retrieval_gt``."""
    return list(dict.fromkeys(name for group in sample.retrieval_gt for name in group))


def as_file_name(split: str) -> str:
    """Return the name of a split if it is a valid file name."""
    if not _FILE_NAME.fullmatch(split):
        raise InputError(f"split {split!r}: not a valid file name; use letters, digits, - and _")
    return split


def write_json(file: Path, value: Any) -> None:
    """Write a value as indented ASCII JSON."""
    file.write_text(json.dumps(value, indent=1) + "\n", encoding="ascii", newline="\n")


def write_lines(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as ASCII JSON lines."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
