"""What an export is: a format by its name, what it is handed, and what writes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from programs.types import Chunk, Document, Sample

if TYPE_CHECKING:
    from groundset.store.reviews import Review


class Exported(NamedTuple):
    """How much an export wrote; no chunks where no format holds the corpus."""

    questions: int
    chunks: int


@dataclass(frozen=True)
class EvaluationSet:
    """What goes out: the questions of a run and the corpus that they are asked about.

    Attributes:
        samples: the questions, with what a reader mended in them.
        chunks: all chunks of the run, whether or not a question is about them.
        documents: where the chunks come from.
        made_at: when the run was made; stands in where a document does not know when it was last modified.
        vectors: returns the embedding vectors of the chunks, a row for each; only called by formats that search.
        question_vectors: returns the vector of each question by its id; of a mended one, that of the question before.
        record: what ``run.json`` says about the run.
        reviews: what each reader said last about each sample and reject, the earliest first.
    """

    samples: Sequence[Sample]
    chunks: Sequence[Chunk]
    documents: Sequence[Document]
    made_at: datetime
    vectors: Callable[[], Any] = field(repr=False)
    question_vectors: Callable[[], Mapping[str, Any]] = field(repr=False)
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reviews: Sequence["Review"] = field(default=(), repr=False)


@dataclass(frozen=True)
class Export:
    """One row of the table. The command line reads it for its help, so nothing heavy is imported with it.

    Attributes:
        name: what the command line calls it.
        about: the files that it writes, in a few words.
        write: writes them into an empty folder, which becomes the user's once all of them are there. The set has
            passed :func:`groundset.sets.exports.checks.check_set`.
        files: glob patterns of what it writes (:func:`groundset.folders.check_own`); whatever else lies in its folder
            is not its own, and is never removed.
        last: the file or folder at the top that comes last where they can only be moved one by one.
        corpus: whether all chunks go out, or only those of questions.
    """

    name: str
    about: str
    write: Callable[[EvaluationSet, Path], None]
    files: tuple[str, ...]
    last: str
    corpus: bool = True
