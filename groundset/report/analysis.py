"""A run with the figures derived from it for reports and comparisons."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.report.measurements import Vectors, unit
from groundset.report.page import PageSection
from groundset.run import SETTINGS, Run
from groundset.stats import Units, Values, resampling_units
from groundset.store.record import read_record
from groundset.store.tables import SKIPPING_STEPS
from programs.errors import InputError
from programs.types import Reject, Sample


class RunAnalysis(Run):
    """A run with derived figures: a snapshot if the run is still growing.

    Attributes:
        name: folder name.
        status: status in ``run.json``; empty if not recorded.
        requested: number of samples requested; None if not recorded.
        derived: command that made the run from existing samples; empty for a generated run.
        attempts: number of finished attempts.
        steps: names of the steps called, in order.
        attempted_chunks: ids of the chunks used by attempts.
        calls, critic_calls: call totals of the language model and of a separate judging model.
        seconds: total time over all processes.
    """

    def __init__(self, folder: Path) -> None:
        """Read everything that changes while a run grows.

        Raises:
            InputError: the folder holds no run.
            DamagedRunError: its contents cannot be read.
        """
        super().__init__(folder)
        self.name = folder.resolve().name
        with self.opened() as store:
            lineage = store.meta("lineage")
            self.samples, self.rejects = list(store.results.samples()), list(store.results.rejects())
            self.question_vectors = _stacked(list(store.results.vectors())[: len(self.samples)], len(self.samples))
            self.settings = {name: store.meta(name) or {} for name in (*SETTINGS, "agenda")}
            self.requested: int | None = store.meta("asked")
            self.derived = str(lineage["command"]) if lineage else ""
            numbers = [number for number, _ in store.attempts.verdicts()]
            self.attempts, self.steps = len(numbers), list(store.attempts.step_counts())
            self.attempted_chunks = frozenset(name for number in numbers for name in store.attempts.contexts(number))
            self.calls, self.critic_calls = store.calls.totals(), store.critic_calls.totals()
            self.seconds = store.spent()[1]
            try:
                self.status = str(read_record(folder)["status"])
            except InputError:  # run.json is optional here
                self.status = str(store.meta("ending") or "")

    @cached_property
    def chunk_vectors(self) -> Vectors:
        """Return one embedding per chunk; no rows if any is missing."""
        with self.opened() as store:
            return store.vectors() if self.chunks and not store.corpus.is_missing("vector") else _stacked([], 0)

    @property
    def judge(self) -> Mapping[str, Any]:
        """Return the compiled state of the question critic, as far as recorded."""
        return self.settings["compiled"].get("judge") or {}

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Return the index of each chunk by id."""
        return {chunk.chunk_id: index for index, chunk in enumerate(self.chunks)}

    @cached_property
    def document_texts(self) -> frozenset[str]:
        """Return the hashes of the document texts."""
        return frozenset(_digest(document.text) for document in self.documents)

    @cached_property
    def chunk_texts(self) -> frozenset[str]:
        """Return the hashes of the chunk texts; equal ids do not mean equal texts."""
        return frozenset(_digest(chunk.text) for chunk in self.chunks)

    @cached_property
    def sampled_documents(self) -> frozenset[str]:
        """Return the ids of the documents that samples use."""
        return frozenset(chunk.doc_id for sample in self.samples for chunk in sample.contexts)

    @cached_property
    def sampled_chunks(self) -> frozenset[str]:
        """Return the ids of the chunks that samples use."""
        return frozenset(chunk.chunk_id for sample in self.samples for chunk in sample.contexts)

    @cached_property
    def refused(self) -> list[Reject]:
        """Return the refused questions, without the skipped chunks."""
        return [reject for reject in self.rejects if not is_skipped_chunk(reject)]

    @cached_property
    def skipped_chunks(self) -> frozenset[str]:
        """Return the ids of chunks that were skipped before any question was asked about them.

        A chunk is also recorded as skipped when nothing further can be asked about it.
        """
        skipped = {reject.chunk_id for reject in self.rejects if is_skipped_chunk(reject)}
        return frozenset(skipped - self.sampled_chunks - {reject.chunk_id for reject in self.refused})

    @property
    def knows_usable(self) -> bool:
        """Return whether the chunks were judged before generation."""
        return bool(self.settings["agenda"] or self.skipped_chunks)

    @cached_property
    def answerable(self) -> list[Sample]:
        """Return the samples that chunks answer; measures of retrieval leave the others out."""
        return [sample for sample in self.samples if sample.answerable]

    @cached_property
    def units(self) -> tuple[Units, bool]:
        """Return the resampling units of intervals; see :func:`groundset.stats.resampling_units`."""
        return _units(self.samples)

    @cached_property
    def answerable_units(self) -> tuple[Units, bool]:
        """Return the resampling units of the answerable samples."""
        return _units(self.answerable)

    @cached_property
    def passage_similarity(self) -> Values | None:
        """Return the mean cosine of each answerable question with its chunks; None if vectors are missing."""
        if not len(self.question_vectors):
            return None
        chunks = self.chunk_vectors
        questions = unit(self.question_vectors)[[sample.answerable for sample in self.samples]]
        if not len(questions) or questions.shape[1] != chunks.shape[1]:
            return None
        known = [
            [self.index_of[chunk.chunk_id] for chunk in sample.contexts if chunk.chunk_id in self.index_of]
            for sample in self.answerable
        ]
        if not all(known):
            return None
        pairs = zip(questions, known, strict=True)
        return np.array([(unit(chunks[indices]) @ question).mean() for question, indices in pairs], dtype=float)


class ReportSection(NamedTuple):
    """A report section, discovered as ``SECTION`` of its module; ``rank`` is its position."""

    name: str
    make: Callable[[RunAnalysis], PageSection]
    rank: int


def is_skipped_chunk(reject: Reject) -> bool:
    """Return whether a reject records a chunk skipped without a question."""
    return reject.step in SKIPPING_STEPS and reject.question is None


def _units(samples: Sequence[Sample]) -> tuple[Units, bool]:
    return resampling_units([sample.contexts[0].doc_id if sample.contexts else "" for sample in samples])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stacked(rows: Sequence[Vectors], expected: int) -> Vectors:
    """Stack vectors into one array; no rows unless there are ``expected`` vectors of one length."""
    is_complete = len({row.shape for row in rows}) == 1 and len(rows) == expected and rows[0].size
    return np.stack(rows) if is_complete else np.empty((0, 0), np.float32)
