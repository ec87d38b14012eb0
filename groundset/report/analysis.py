"""What a report and a comparison show of a run, read from its folder once."""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.report.measurements import Vectors, unit
from groundset.stats import Units, resampling_units
from groundset.store.record import run_files
from groundset.store.reviews import readings
from groundset.store.run_store import RunStore
from groundset.store.tables import PASSED_OVER
from programs.types import Reject

_META = ("configuration", "models", "compiled", "corpus", "agenda")


class RunAnalysis:
    """A run with what follows from it. One that is still going is as it was at this moment.

    Attributes:
        name: of its folder.
        status: as ``run.json`` says it; empty where nobody wrote that.
        requested: how many samples; None where nobody noted it.
        derived: the command that made it of what was there already; empty for one that was generated.
        samples, rejects: what was accepted and refused.
        documents, chunks: its corpus.
        attempts: how many were decided.
        steps: the steps that were called, in their order.
        attempted_chunks: the chunks that attempts were about.
        question_vectors, chunk_vectors: a row for each sample and each chunk; None where they are not all there.
        consensus: what reviewers of samples come to, by their id.
        reviewers: their names.
        calls: what all language model calls took together, but for those of a second model that judges.
        critic_calls: what those took.
        seconds: what all processes took that worked on it.
        meta: the rest by name: ``configuration``, ``models``, ``compiled``, ``corpus``, ``agenda``.
    """

    def __init__(self, folder: Path) -> None:
        """Read a run.

        Raises:
            InputError: the folder holds no run.
            DamagedRunError: what it holds cannot be read.
        """
        with RunStore.read(folder) as store:
            numbers = [number for number, _ in store.attempts.verdicts()]
            reviews = [review for review in store.reviews.standing() if review.kind == "sample"]
            lineage = store.meta("lineage")
            self.name = folder.resolve().name
            self.status = _status(folder) or str(store.meta("ending") or "")
            self.requested: int | None = store.meta("asked")
            self.derived = str(lineage["command"]) if lineage else ""
            self.samples = list(store.results.samples())
            self.rejects = list(store.results.rejects())
            self.documents, self.chunks = store.documents(), store.chunks()
            self.attempts = len(numbers)
            self.steps = list(store.attempts.step_counts())
            self.attempted_chunks = frozenset(name for number in numbers for name in store.attempts.contexts(number))
            self.question_vectors = _stacked(list(store.results.vectors())[: len(self.samples)], len(self.samples))
            has_vectors = self.chunks and not store.without("vector")
            self.chunk_vectors: Vectors | None = store.vectors() if has_vectors else None
            self.consensus = readings(reviews)
            self.reviewers = sorted({review.reader for review in reviews})
            self.calls, self.critic_calls = store.calls.totals(), store.critic_calls.totals()
            self.seconds = store.spent()[1]
            self.meta: dict[str, Any] = {name: store.meta(name) or {} for name in _META}

    @cached_property
    def judge(self) -> dict[str, Any]:
        """Return the compiled state of the critic of questions, as far as the run notes it."""
        return self.meta["compiled"].get("judge") or {}

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
        """Return the questions that were refused, without the passages that held nothing to ask."""
        return [reject for reject in self.rejects if not is_passage(reject)]

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """Return the chunks that a step found no good to ask about, and that nothing was ever asked about.

        A step passes a chunk over too once it holds nothing further to ask.
        """
        passed = {reject.chunk_id for reject in self.rejects if is_passage(reject)}
        return frozenset(passed - self.asked_chunks - {reject.chunk_id for reject in self.refused})

    @property
    def knows_usable(self) -> bool:
        """Return whether the chunks were judged before anything was asked."""
        return bool(self.meta["agenda"] or self.passed_over)

    @cached_property
    def units(self) -> tuple[Units, bool]:
        """Return what intervals draw together; see :func:`groundset.stats.resampling_units`."""
        return resampling_units([sample.contexts[0].doc_id if sample.contexts else "" for sample in self.samples])

    @cached_property
    def passage_likeness(self) -> NDArray[np.float64] | None:
        """Return for each question its mean cosine with its own chunks, None where vectors are missing."""
        questions, chunks = self.question_vectors, self.chunk_vectors
        if questions is None or chunks is None or questions.shape[1] != chunks.shape[1]:
            return None
        found, questions = np.zeros(len(self.samples)), unit(questions)
        for number, sample in enumerate(self.samples):
            own = [self.places[chunk.chunk_id] for chunk in sample.contexts if chunk.chunk_id in self.places]
            if not own:
                return None
            found[number] = float((unit(chunks[own]) @ questions[number]).mean())
        return found


def is_passage(reject: Reject) -> bool:
    """Return whether a chunk was passed over without a question."""
    return reject.step in PASSED_OVER and reject.question is None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stacked(rows: Sequence[Vectors], expected: int) -> Vectors | None:
    """Return vectors as one array if there is one for each sample and they are of one length."""
    same = len({row.shape for row in rows}) == 1
    return np.stack(rows) if same and len(rows) == expected and rows[0].size else None


def _status(folder: Path) -> str:
    """Return what ``run.json`` says; a report does without it."""
    try:
        record = json.loads(run_files(folder).record.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    return str(record.get("status", "")) if isinstance(record, dict) else ""
