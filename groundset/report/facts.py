"""All that a report tells of, read from the folder of a run once."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundset.stats import Units, resampling_units
from groundset.store.calls import CallTotals
from groundset.store.record import run_files
from groundset.store.reviews import Consensus, readings
from groundset.store.run_store import RunStore
from groundset.store.tables import PASSED_OVER
from programs.types import Reject, Sample

Vectors = NDArray[np.float32]


class Origin(NamedTuple):
    """A document: its id, its file, its title, and a hash of its text."""

    doc_id: str
    path: str
    title: str
    digest: str


@dataclass(frozen=True, eq=False)
class RunFacts:
    """What is known of a run. One that is still going is as it was at this moment.

    Attributes:
        name: of its folder.
        status: as ``run.json`` says it; empty where nobody wrote that.
        asked: how many samples were wanted; None where nobody noted it.
        derived: the command that made it of what was there already; empty for one that was generated.
        samples, rejects: what was kept and refused.
        attempts: how many were decided.
        tried: the steps that spoke, in their order.
        sources: the documents.
        chunk_ids, chunk_sources: of each chunk its id and that of its document.
        cut: a hash of each chunk's text; ids are numbers in a document, however it is cut.
        tried_chunks: the chunks that attempts were about.
        questions, chunks: embeddings, a row for each sample and each chunk; None where they are not all there.
        readings: what readers said of samples, by their id.
        readers: their names.
        calls: what all language model calls took together, but for those of a second model that judges.
        critic_calls: what those took.
        seconds: what all processes took that worked on it.
        meta: the rest by name: ``configuration``, ``models``, ``compiled``, ``corpus``, ``agenda``.
    """

    name: str
    status: str
    asked: int | None
    derived: str
    samples: Sequence[Sample]
    rejects: Sequence[Reject]
    attempts: int
    tried: Sequence[str]
    sources: Sequence[Origin]
    chunk_ids: Sequence[str]
    chunk_sources: Sequence[str]
    cut: frozenset[str]
    tried_chunks: frozenset[str]
    questions: Vectors | None
    chunks: Vectors | None
    readings: Mapping[str, Consensus]
    readers: Sequence[str]
    calls: CallTotals
    critic_calls: CallTotals
    seconds: float
    meta: Mapping[str, Any] = field(repr=False)

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the place of each chunk by its id."""
        return {name: place for place, name in enumerate(self.chunk_ids)}

    @cached_property
    def kept_chunks(self) -> frozenset[str]:
        """Return the chunks that samples are about."""
        return frozenset(chunk.chunk_id for sample in self.samples for chunk in sample.contexts)

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """Return the chunks that a step found no good to ask about, and that nothing was ever asked about.

        A step passes a chunk over too once it holds nothing further to ask.
        """
        passed = {reject.chunk_id for reject in self.rejects if is_passage(reject)}
        return frozenset(passed - self.kept_chunks - {reject.chunk_id for reject in self.refused})

    @property
    def knows_usable(self) -> bool:
        """Say whether the chunks were judged before anything was asked."""
        return bool(self.meta["agenda"] or self.passed_over)

    @property
    def refused(self) -> list[Reject]:
        """Return the questions that were refused, without the passages that held nothing to ask."""
        return [reject for reject in self.rejects if not is_passage(reject)]

    @cached_property
    def units(self) -> tuple[Units, bool]:
        """Return what intervals draw together; see :func:`groundset.stats.resampling_units`."""
        return resampling_units([sample.contexts[0].doc_id if sample.contexts else "" for sample in self.samples])

    @property
    def max_rank(self) -> int:
        """Return the worst rank that the run kept a question at, 0 if it kept all."""
        return int((self.meta["configuration"] or {}).get("max_rank") or 0)

    def counts(self, what: Sequence[str]) -> list[tuple[str, int]]:
        """Return how often each name occurs, the most frequent first."""
        return Counter(what).most_common()


def is_passage(reject: Reject) -> bool:
    """Say whether a chunk was passed over without a question."""
    return reject.step in PASSED_OVER and reject.question is None


def read_facts(folder: Path) -> RunFacts:
    """Return what is known of a run.

    Raises:
        InputError: the folder holds no run.
        DamagedRunError: what it holds cannot be read.
    """
    with RunStore.read(folder) as store:
        samples = list(store.results.samples())
        documents, chunks = store.documents(), store.chunks()
        numbers = [number for number, _ in store.attempts.verdicts()]
        standing = [review for review in store.reviews.standing() if review.kind == "sample"]
        lineage = store.meta("lineage")
        meta = ("configuration", "models", "compiled", "corpus", "agenda")
        return RunFacts(
            name=folder.resolve().name,
            status=_status(folder) or str(store.meta("ending") or ""),
            asked=store.meta("asked"),
            derived=str(lineage["command"]) if lineage else "",
            samples=samples,
            rejects=list(store.results.rejects()),
            attempts=len(numbers),
            tried=list(store.attempts.step_counts()),
            sources=[Origin(each.doc_id, each.path, each.title, _digest(each.text)) for each in documents],
            chunk_ids=[chunk.chunk_id for chunk in chunks],
            chunk_sources=[chunk.doc_id for chunk in chunks],
            cut=frozenset(_digest(chunk.text) for chunk in chunks),
            tried_chunks=frozenset(name for number in numbers for name in store.attempts.contexts(number)),
            questions=_stacked(list(store.results.vectors())[: len(samples)], len(samples)),
            chunks=None if store.without("vector") or not chunks else store.vectors(),
            readings=readings(standing),
            readers=sorted({review.reader for review in standing}),
            calls=store.calls.totals(),
            critic_calls=store.critic_calls.totals(),
            seconds=store.spent()[1],
            meta={name: store.meta(name) for name in meta},
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stacked(rows: Sequence[Vectors], expected: int) -> Vectors | None:
    """Return vectors as one array if there is one for each sample and they are of one length."""
    same = len({row.shape for row in rows}) == 1
    return np.stack(rows) if same and len(rows) == expected and rows[0].size else None


def _status(folder: Path) -> str:
    """Return what ``run.json`` says; a report does without it."""
    try:
        told = json.loads(run_files(folder).record.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    return str(told.get("status", "")) if isinstance(told, dict) else ""
