"""What a report and a comparison show of a run: the run, and what follows from it."""

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
from programs.types import Reject


class RunAnalysis(Run):
    """A run with what follows from it; one that is still growing is as it was at this moment.

    Attributes:
        name: the name of its folder.
        status: as ``run.json`` has it; empty where it was not recorded.
        requested: how many samples; None where that was not recorded.
        derived: the command that made it from existing samples; empty for a generated run.
        attempts: how many were decided.
        steps: the steps that were called, in their order.
        attempted_chunks: the chunks that attempts were about.
        calls, critic_calls: totals over the calls of the language model, and of a second one that judges.
        seconds: time over all processes that worked on it.
    """

    def __init__(self, folder: Path) -> None:
        """Read at once what changes while a run grows.

        Raises:
            InputError: the folder holds no run.
            DamagedRunError: what it holds cannot be read.
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
            except InputError:  # a report does without it
                self.status = str(store.meta("ending") or "")

    @cached_property
    def chunk_vectors(self) -> Vectors:
        """Return the embeddings of the chunks, a row for each; no rows if one lacks its embedding."""
        with self.opened() as store:
            return store.vectors() if self.chunks and not store.chunks_missing("vector") else _stacked([], 0)

    @property
    def judge(self) -> Mapping[str, Any]:
        """Return the compiled state of the critic of questions, as far as it was recorded."""
        return self.settings["compiled"].get("judge") or {}

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the place of each chunk by its id."""
        return {chunk.chunk_id: place for place, chunk in enumerate(self.chunks)}

    @cached_property
    def document_texts(self) -> frozenset[str]:
        """Return a hash of the text of each document."""
        return frozenset(_digest(document.text) for document in self.documents)

    @cached_property
    def chunk_texts(self) -> frozenset[str]:
        """Return a hash of the text of each chunk; ids are numbers in a document, however it is cut."""
        return frozenset(_digest(chunk.text) for chunk in self.chunks)

    @cached_property
    def asked_documents(self) -> frozenset[str]:
        """Return the documents that samples are about."""
        return frozenset(chunk.doc_id for sample in self.samples for chunk in sample.contexts)

    @cached_property
    def asked_chunks(self) -> frozenset[str]:
        """Return the chunks that samples are about."""
        return frozenset(chunk.chunk_id for sample in self.samples for chunk in sample.contexts)

    @cached_property
    def refused(self) -> list[Reject]:
        """Return the questions that were refused, without the chunks that were passed over."""
        return [reject for reject in self.rejects if not is_passage(reject)]

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """Return the chunks that a step passed over and that nothing was ever asked about.

        A step passes a chunk over too once it holds nothing further to ask.
        """
        passed = {reject.chunk_id for reject in self.rejects if is_passage(reject)}
        return frozenset(passed - self.asked_chunks - {reject.chunk_id for reject in self.refused})

    @property
    def knows_usable(self) -> bool:
        """Return whether the chunks were judged before anything was asked."""
        return bool(self.settings["agenda"] or self.passed_over)

    @cached_property
    def units(self) -> tuple[Units, bool]:
        """Return what intervals resample; see :func:`groundset.stats.resampling_units`."""
        return resampling_units([sample.contexts[0].doc_id if sample.contexts else "" for sample in self.samples])

    @cached_property
    def passage_likeness(self) -> Values | None:
        """Return for each question its mean cosine with its own chunks, None where vectors are missing."""
        questions, chunks = unit(self.question_vectors), self.chunk_vectors
        if not len(questions) or questions.shape[1] != chunks.shape[1]:
            return None
        own = [[self.places.get(chunk.chunk_id) for chunk in sample.contexts] for sample in self.samples]
        known = [[place for place in places if place is not None] for places in own]
        if not all(known):
            return None
        pairs = zip(questions, known, strict=True)
        return np.array([(unit(chunks[places]) @ question).mean() for question, places in pairs], dtype=float)


class ReportSection(NamedTuple):
    """A section of the report, found in its module as ``SECTION``; ``rank`` is its place."""

    name: str
    make: Callable[[RunAnalysis], PageSection]
    rank: int


def is_passage(reject: Reject) -> bool:
    """Return whether a chunk was passed over without a question."""
    return reject.step in SKIPPING_STEPS and reject.question is None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stacked(rows: Sequence[Vectors], expected: int) -> Vectors:
    """Return vectors as one array; no rows unless there are as many as expected and they are of one length."""
    is_whole = len({row.shape for row in rows}) == 1 and len(rows) == expected and rows[0].size
    return np.stack(rows) if is_whole else np.empty((0, 0), np.float32)
