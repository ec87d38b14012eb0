"""A run: its samples and everything that is kept with them, read from its folder part by part."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import count, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from groundset.corpus.corpus import Corpus
from groundset.files import json_line, whole_file, whole_folder
from groundset.printing import say
from groundset.programs.errors import RunError
from groundset.programs.types import Chunk, Document, Reject, Sample
from groundset.run.folder import DATABASE, SAMPLES, VECTORS, check_new, damaged
from groundset.run.record import (
    UNKNOWN,
    counts,
    question_row,
    rejects_in,
    run_record,
    sample_row,
    samples_in,
    write_files,
)
from groundset.run.store import Attempt, Result, Review, Store

if TYPE_CHECKING:
    import pandas as pd

_Value = TypeVar("_Value")
_COLUMNS = (
    "id",
    "question",
    "answer",
    "contexts",
    "chunk_ids",
    "paths",
    "retrieval_gt",
    "rank",
    "kind",
    "evolution",
    "language",
    "probability",
)
# What a saved run takes from the record of the run that it came from.
_SETTINGS = (*UNKNOWN, "skipped", "source")


class Run(Sequence[Sample]):
    """A sequence of the samples of a run, with everything that is kept about it; parts are read
    when they are used.

    Attributes:
        folder: its folder; of a filtered run that was not saved, the folder of the run that it came
            from.
        is_saved: whether the folder holds just this run.
    """

    def __init__(self, folder: Path, **parts: Any) -> None:
        """Refer to the run in a folder; ``parts`` replace what would be read from it."""
        self.folder = folder
        self.is_saved = not parts
        self.__dict__.update(parts)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """Return the samples in the order of their attempts."""
        return tuple(samples_in("accepted", self.attempts))

    @cached_property
    def unsure(self) -> tuple[Sample, ...]:
        """Return the user's own questions that wait for a person, without gold."""
        return tuple(samples_in("unsure", self.attempts))

    @cached_property
    def rejects(self) -> tuple[Reject, ...]:
        """Return what was refused, each with its step and reason, in the order of the attempts."""
        return tuple(rejects_in(self.attempts))

    @cached_property
    def attempts(self) -> Sequence[Attempt]:
        """Return every finished attempt."""
        return self._read(Store.attempts)

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return the content of ``run.json`` as of now."""
        return self._read(lambda store: run_record(store, self.attempts))

    @cached_property
    def reviews(self) -> list[Review]:
        """Return all reviews in the order in which they were given."""
        return self._read(Store.reviews)

    @cached_property
    def corpus(self) -> Corpus:
        """Return documents and chunks as the corpus that was read."""
        Store.read(self.folder).close()
        return Corpus.read(self.folder)

    @property
    def documents(self) -> Mapping[str, Document]:
        """Return the documents by their ids."""
        return self.corpus.documents

    @property
    def chunks(self) -> dict[str, Chunk]:
        """Return all chunks by their ids, in the order of the documents."""
        return self.corpus.by_id

    @cached_property
    def vectors(self) -> np.ndarray:
        """Return the embeddings of the chunks, a row for each, mapped from the file.

        Raises:
            RunError: the run has none, or the file is damaged.
        """
        return read_vectors(self.folder, len(self.chunks))

    @property
    def status(self) -> str:
        """Return ``complete``, ``short`` (fewer were possible), ``budget``, ``interrupted``,
        ``failed`` or ``running``.

        A killed run stays ``running``; the call that began it goes on with it.
        """
        return str(self.record["status"])

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each sample.

        ``contexts``, ``chunk_ids`` and ``paths`` are lists over the chunks of a question,
        ``retrieval_gt`` is a list of groups of chunk ids, ``rank`` is missing beyond the depth of
        the search.
        """
        import pandas as pd

        rows = [question_row(sample, None) for sample in self.samples]
        return pd.DataFrame(rows, columns=_COLUMNS).astype(
            {"rank": "Int64", "probability": "float64"}
        )

    def filter(self, predicate: Callable[[Sample], bool]) -> "Run":
        """Return the run with only the samples that a function is true for; it is not kept before
        :meth:`save`.
        """
        samples = tuple(sample for sample in self.samples if predicate(sample))
        record = self.record | counts(samples, self.rejects)
        filtered = copy(self)
        vars(filtered).update(samples=samples, record=record, is_saved=False)
        return filtered

    def save(self, out: str | Path) -> "Run":
        """Write the run to a new folder with the reviews of its samples, and return it.

        Raises:
            InputError: the folder is not empty, or cannot be written.
        """
        ids = {sample.id for sample in self.samples}
        has_vectors = (self.folder / VECTORS).exists()
        return save_run(
            Path(out),
            self.corpus,
            samples=self.samples,
            vectors=self.vectors if has_vectors else None,
            rejects=self.rejects,
            record={"source": self.folder.name, **self.record},
            reviews=[review for review in self.reviews if review.sample_id in ids],
        )

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Sample, ...]: ...

    def __getitem__(self, index: int | slice) -> Sample | tuple[Sample, ...]:
        """Return a sample by its position, or several by a slice."""
        return self.samples[index]

    def __repr__(self) -> str:
        """Return folder, number of samples and status in one line."""
        return f"<Run {self.folder}: {len(self)} samples, {self.status}>"

    def _read(self, part: Callable[[Store], _Value]) -> _Value:
        with Store.read(self.folder) as store:
            return part(store)


def open_run(folder: str | Path) -> Run:
    """Return the run in a folder; all its samples have their chunks.

    Raises:
        InputError: the folder holds no run, or one of another version.
        RunError: it is damaged.
    """
    run = Run(Path(folder).expanduser())
    for sample in run.samples:
        ids = {chunk.chunk_id for chunk in sample.contexts}.union(*sample.retrieval_gt)
        if unknown := ids - run.chunks.keys():
            raise RunError(
                f"{run.folder} is damaged (chunk {min(unknown)} of sample {sample.id} is missing)"
            )
    for line in edited(run):
        say(line, err=True)
    return run


def edited(run: Run) -> Iterator[str]:
    """Yield a line on samples.jsonl, which is never read, if somebody changed it."""
    file = run.folder / SAMPLES
    if run.status == "running" or not file.is_file():
        return
    whole = "".join(json_line(sample_row(sample)) for sample in run.samples).encode()
    if file.read_bytes() != whole:
        yield (
            f"{file} was changed by hand, which has no effect: refuse samples with"
            f" `groundset review {run.folder}`, or keep some with run.filter(...).save(FOLDER)"
            " in Python"
        )


def save_run(
    out: Path,
    corpus: Corpus,
    *,
    samples: Sequence[Sample],
    vectors: np.ndarray | None,
    rejects: Iterable[Reject] = (),
    record: Mapping[str, Any],
    reviews: Iterable[Review] = (),
    meta: Mapping[str, Any] = MappingProxyType({}),
    asked: np.ndarray | None = None,
) -> Run:
    """Write a run to a new folder at once, and return it.

    Chunks have a row of ``vectors`` each, if they were embedded. ``record`` has entries of
    ``run.json`` that say where the samples come from; counts and cost are not taken. ``asked`` has
    the embeddings of the questions, so that a run whose ``meta`` has an identity can go on.

    Raises:
        InputError: the folder is not empty, or cannot be written.
    """
    check_new(out)
    settings = {name: record[name] for name in _SETTINGS if name in record}
    sizes = {"documents": len(corpus.documents), "chunks": len(corpus.chunks)}
    meta = {"status": "complete", "asked": len(samples), "record": settings | sizes, **meta}
    with whole_folder(out, last=DATABASE) as aside:
        corpus.write(aside)
        if vectors is not None:
            write_vectors(aside, vectors)
        with Store.create(aside, meta) as store:
            with store.transaction():
                for attempt in _finished(samples, rejects, asked):
                    store.add_attempt(attempt)
                for review in reviews:
                    store.add_review(review)
            write_files(store)
    return open_run(out)


def write_vectors(folder: Path, vectors: np.ndarray) -> None:
    """Write the embeddings of the chunks of a run.

    Raises:
        InputError: the file cannot be written.
    """
    # Of a file that is opened to write alone NumPy's error does not say that the disk is full.
    with whole_file(folder / VECTORS, follow=False) as aside, aside.open("w+b") as stream:
        np.save(stream, np.ascontiguousarray(vectors, np.float32))


def read_vectors(folder: Path, chunks: int) -> np.ndarray:
    """Return the embeddings of the chunks of a run, mapped from the file; ``chunks`` is how many
    there are.

    Raises:
        RunError: the run has none, or the file is damaged.
    """
    file = folder / VECTORS
    try:
        rows: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise RunError(f"{folder} has no {VECTORS}: its chunks were not embedded") from error
    except (OSError, ValueError, EOFError) as error:
        raise damaged(file) from error
    if rows.dtype != np.float32 or rows.ndim != 2 or len(rows) != chunks:
        raise damaged(file)
    return rows


def _finished(
    samples: Iterable[Sample], rejects: Iterable[Reject], asked: np.ndarray | None
) -> Iterator[Attempt]:
    """Yield an attempt for each sample, and one for each reject, numbered from 1."""
    numbers = count(1)
    for sample, vector in zip_longest(samples, () if asked is None else asked):
        ids = tuple(chunk.chunk_id for chunk in sample.contexts)
        yield Attempt(
            next(numbers), ids, (sample.evolution,), "accepted", Result(sample=sample), vector
        )
    for reject in rejects:
        yield Attempt(next(numbers), (reject.chunk_id,), (), "refused", Result(rejects=(reject,)))
