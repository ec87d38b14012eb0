"""A run: its samples and everything stored with them, read from its folder part by part.

Every command, export, report and page takes a :class:`Run`. A transform is
``save_run(out, change(Run.loaded(folder)), lineage)``. A saved run holds a lineage instead of the attempts, calls and
time of the generated run that it was made from.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload

import numpy as np

from groundset import __version__
from groundset.files import encodable
from groundset.folders import whole_folder
from groundset.progress import counted
from groundset.store.folder import check_free, database_path
from groundset.store.lineage import Lineage, Parent
from groundset.store.record import read_record, run_files, run_record, write_files
from groundset.store.reviews import Consensus, Review, consensus_by_item, corrected, latest_reviews
from groundset.store.run_store import RunStore
from groundset.store.summary import account
from groundset.store.tables import Vectors
from programs.errors import GroundsetError, InputError, RunError
from programs.types import Chunk, Document, Reject, Sample

SETTINGS = ("configuration", "models", "compiled", "corpus", "skipped")
_ROLES = ("lm", "embedder", "parser", "critic")
_VECTORS_AT_ONCE = 1024  # stored in one transaction
_Value = TypeVar("_Value")


class RunParts(TypedDict, total=False):
    """Parts of a run that can be given instead of being read from its folder."""

    samples: Sequence[Sample]
    question_vectors: Vectors
    rejects: Sequence[Reject]
    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    chunk_vectors: Vectors
    reviews: Sequence[Review]
    settings: Mapping[str, Any]
    parents: tuple[Parent, ...]
    identity: str | None
    started: datetime | None


class Run(Sequence[Sample]):
    """A run, a sequence of its samples; each part is read on first access, and cached.

    Attributes:
        folder: its folder.
    """

    def __init__(self, folder: Path, **parts: Unpack[RunParts]) -> None:
        """Refer to the run in a folder without reading it; given parts are not read."""
        self.folder = folder
        self._checked = False
        self.__dict__.update(parts)

    @classmethod
    def of(cls, **parts: Unpack[RunParts]) -> Self:
        """Build a run in memory from its parts."""
        run = cls(Path(), rejects=(), reviews=(), parents=(), settings={}, identity=None, started=None)
        return run.replace(**parts)

    @classmethod
    def loaded(cls, folder: Path) -> Self:
        """Read all parts of a run at once, and check its references.

        Raises:
            InputError: the folder holds no run, or one without samples.
            DamagedRunError: the run is damaged.
        """
        run = cls(folder)
        with run.opened() as store:
            samples = list(store.results.samples())
            if not samples:
                raise InputError(f"the run in {folder} holds no samples")
            chunks, documents = store.chunks(), store.documents()
            check_references(store, samples, chunks, documents)
            for role in _ROLES:
                store.required("models", role, "name")
            store.required("configuration", "embedder")
            store.required("compiled")
            run.__dict__ |= {
                "samples": samples,
                "question_vectors": _question_vectors(store, len(samples)),
                "rejects": list(store.results.rejects()),
                "documents": documents,
                "chunks": chunks,
                "chunk_vectors": store.vectors(),
                "reviews": store.reviews.all(),
                "settings": _settings(store),
                "parents": (_parent(store, folder, len(samples)),),
            }
        return run

    @contextmanager
    def opened(self) -> Iterator[RunStore]:
        """Open the store of the run for reading.

        Raises:
            InputError: the folder holds no run.
            DamagedRunError: the run is damaged.
        """
        with RunStore.read(self.folder, check=not self._checked) as store:
            self._checked = True
            yield store

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """Return the samples, in the order of acceptance."""
        return self._read(lambda store: list(store.results.samples()))

    @cached_property
    def question_vectors(self) -> Vectors:
        """Return the embeddings of the questions, a row for each sample."""
        return self._read(lambda store: _question_vectors(store, len(self.samples)))

    @cached_property
    def rejects(self) -> Sequence[Reject]:
        """Return the rejects; reviews refer to them by position, from 1."""
        return self._read(lambda store: list(store.results.rejects()))

    @cached_property
    def documents(self) -> Sequence[Document]:
        """Return the documents."""
        return self._read(RunStore.documents)

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """Return all chunks, in order."""
        return self._read(RunStore.chunks)

    @cached_property
    def chunk_vectors(self) -> Vectors:
        """Return the embeddings of the chunks, a row for each."""
        return self._read(RunStore.vectors)

    @cached_property
    def reviews(self) -> Sequence[Review]:
        """Return every review in order, including withdrawn ones."""
        return self._read(lambda store: store.reviews.all())

    @cached_property
    def consensus(self) -> Mapping[str, Consensus]:
        """Return the consensus of reviewers on each sample, by sample id."""
        return consensus_by_item(latest_reviews(self.reviews))

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Return the entries of ``run.json`` that derived runs keep: see ``SETTINGS``."""
        return self._read(_settings)

    @cached_property
    def parents(self) -> tuple[Parent, ...]:
        """Return this run as the parent of a derived run."""
        return self._read(lambda store: (_parent(store, self.folder, len(self.samples)),))

    @cached_property
    def identity(self) -> str | None:
        """Return the digest of the run's identity."""
        found: str | None = self._read(lambda store: store.meta("digest"))
        return found

    @cached_property
    def started(self) -> datetime | None:
        """Return the start time of the run."""
        started, _ = self._read(RunStore.spent)
        return datetime.fromisoformat(started) if started else None

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return the content of ``run.json``, computed from the database if the file is missing.

        Raises:
            InputError: the file cannot be read, or is damaged.
        """
        if run_files(self.folder).record.exists():
            return read_record(self.folder)
        with self.opened() as store:
            return run_record(store, str(store.meta("ending") or "running")) if store.meta("models") else {}

    @cached_property
    def summary_lines(self) -> Sequence[str]:
        """Return the lines on accepted samples, rejects and cost."""
        return self._read(lambda store: account(store, self.record["reason"]))

    def replace(self, **parts: Unpack[RunParts]) -> Self:
        """Return a copy of the run with some parts replaced."""
        known = {name: value for name, value in self.__dict__.items() if name not in ("consensus", "summary_lines")}
        other = type(self)(self.folder)
        other.__dict__ |= known | parts
        return other

    def only(self, indices: Iterable[int]) -> Self:
        """Return a copy of the run with only the samples at ``indices``, in that order."""
        chosen = list(indices)
        samples = [self.samples[index] for index in chosen]
        return self.replace(samples=samples, question_vectors=self.question_vectors[chosen])

    def reviewed(self, *, signed: bool = False) -> Self:
        """Return the run with the reviewers' corrections, and without samples that they refused.

        Unreviewed and disputed samples are kept, unless ``signed`` is set.
        """
        indices, samples = [], []
        for index, sample in enumerate(self.samples):
            found = self.consensus.get(sample.id)
            verdict = found.verdict if found else None
            if verdict == "good" or (verdict in (None, "disputed") and not signed):
                indices.append(index)
                samples.append(corrected(sample, found))
        return self.only(indices).replace(samples=samples)

    def lineage(self, command: str, **options: Any) -> Lineage:
        """Return the lineage of a run derived from this one by a command."""
        return Lineage(command=command, options=options, parents=self.parents)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...

    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        """Return a sample by its position, or several by a slice."""
        return self.samples[index]

    def _read(self, part: Callable[[RunStore], _Value]) -> _Value:
        with self.opened() as store:
            return part(store)


def reject_sample(sample: Sample, step: str, reason: str) -> Reject:
    """Build the reject recorded when a step removes a sample."""
    return Reject(
        step=step,
        reason=reason,
        chunk_id=sample.contexts[0].chunk_id,
        probability=sample.probability,
        question=sample.question,
    )


def unanswerable_note(samples: Iterable[Sample]) -> list[str]:
    """Return a line on unanswerable questions in a run with new chunks; none if it has no such questions."""
    number = sum(not sample.answerable for sample in samples)
    if not number:
        return []
    questions = counted(number, "unanswerable question")
    return [f"{questions} may be answered by chunks that are new to them: only those of the earlier corpus were read."]


def unused_id(name: str, taken: Collection[str]) -> str:
    """Return an id, with a number appended if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)


def save_run(out: Path, run: Run, lineage: Lineage) -> list[str]:
    """Write a run to a new folder atomically, and return its summary.

    Reviews of samples and rejects that are not in the run are left out.

    Raises:
        ValueError: the number of vectors differs from that of samples or chunks.
        InputError: the folder is not empty, or cannot be created.
        RunError: the run cannot be written.
    """
    check_free(out)
    for what, items, rows in (
        ("samples", run.samples, run.question_vectors),
        ("chunks", run.chunks, run.chunk_vectors),
    ):
        if len(items) != len(rows):
            raise ValueError(f"{len(items)} {what} and vectors of shape {rows.shape}")
    digest = _digest(run)
    meta = {
        **{name: run.settings[name] for name in SETTINGS},
        "asked": len(run.samples),
        "identity": {"program": {"name": __version__, "sha256": None}, "content": digest},
        "digest": digest,
        "lineage": lineage.model_dump(mode="json"),
        "ending": "complete",
    }
    with whole_folder(out, last=database_path(out).name) as aside:
        check_free(out)  # another process may have made a run there before the folder was locked
        try:
            with RunStore.create(aside, meta=meta, documents=run.documents, chunks=run.chunks) as store:
                _fill(store, run)
                write_files(store, "complete")
                return account(store, None)
        except GroundsetError as error:
            cause = error.__cause__ or error
            reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else cause
            raise RunError(f"--out {out}: cannot be written: {reason}; the incomplete run was removed") from error


def _question_vectors(store: RunStore, samples: int) -> Vectors:
    # A running process may have added some since the samples were read.
    rows = list(store.results.vectors())[:samples]
    return np.stack(rows) if rows else np.empty((0, 0), np.float32)


def _settings(store: RunStore) -> dict[str, Any]:
    return {name: store.meta(name) for name in SETTINGS}


def _parent(store: RunStore, folder: Path, samples: int) -> Parent:
    lineage = store.meta("lineage")
    return Parent(
        name=encodable(folder.resolve().name),
        identity=store.required("digest"),
        samples=samples,
        lineage=None if lineage is None else Lineage.model_validate(lineage),
    )


def _fill(store: RunStore, run: Run) -> None:
    for start in range(0, len(run.chunks), _VECTORS_AT_ONCE):
        these = slice(start, start + _VECTORS_AT_ONCE)
        pairs = zip(run.chunks[these], run.chunk_vectors[these], strict=True)
        store.store_column("vector", ((chunk.chunk_id, row.tobytes()) for chunk, row in pairs))
    store.results.add(zip(run.samples, run.question_vectors, strict=True), run.rejects)
    items = {
        "sample": {sample.id for sample in run.samples},
        "reject": {str(position) for position in range(1, len(run.rejects) + 1)},
    }
    store.reviews.add(*(review for review in run.reviews if review.item in items[review.kind]))
    store.begin_session()


def _digest(run: Run) -> str:
    """Return the SHA-256 of the content, regardless of how the run was made."""
    total = hashlib.sha256(json.dumps(run.settings["models"], sort_keys=True).encode())
    for items in (run.samples, run.chunks, run.rejects):
        total.update(f"{len(items)}\n".encode())
        for item in items:
            total.update(item.model_dump_json().encode())
    return total.hexdigest()


def has_ground_truth(sample: Sample) -> bool:
    """Return whether a sample has ground-truth chunks, or is recorded as unanswerable."""
    return sample.answerable or sample.metadata.get("answerable") is False


def check_references(
    store: RunStore, samples: Sequence[Sample], chunks: Sequence[Chunk], documents: Sequence[Document]
) -> None:
    """Check that the documents of all chunks and the chunks of all samples are in the run.

    Raises:
        DamagedRunError: a reference is invalid; the message names the sample or the chunk.
    """
    sources, known = {document.doc_id for document in documents}, {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    for chunk in chunks:
        if chunk.doc_id not in sources:
            raise store.damaged(f"the document of chunk {chunk.chunk_id} is missing")
    for sample in samples:
        groups = sample.retrieval_gt
        contexts_exist = all(known.get(chunk.chunk_id) == chunk.doc_id for chunk in sample.contexts)
        groups_exist = all(group and known.keys() >= set(group) for group in groups)
        if not (sample.contexts and has_ground_truth(sample) and contexts_exist and groups_exist):
            raise store.damaged(f"a chunk of sample {sample.id} is missing")
