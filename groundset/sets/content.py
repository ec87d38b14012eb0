"""Runs that are made from what is already there: content out of a run folder, and a new folder from content.

A command that changes a run is ``write_run(out, change(read_content(run)), lineage)``. What a model said and cost stays
with the run that was generated: a derived one holds no attempts, no calls and no time, and says what it was made from.
"""

import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from groundset import __version__
from groundset.engine.identity import ModelName
from groundset.files import encodable
from groundset.folders import whole_folder
from groundset.store.folder import check_free, database_path
from groundset.store.lineage import Lineage, Parent
from groundset.store.record import write_files
from groundset.store.references import check_references
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from groundset.store.summary import account
from groundset.store.tables import Vectors
from programs.errors import GroundsetError, InputError, RunError
from programs.types import Chunk, Document, Reject, Sample

SETTINGS = ("configuration", "models", "compiled", "corpus", "skipped")
_ROLES = ("lm", "embedder", "parser", "critic")


@dataclass(frozen=True)
class RunContent:
    """What a run is about, without how it came to be.

    Attributes:
        samples: in order.
        vectors: the embeddings of their questions, a row for each.
        chunks: all of the corpus, in order.
        chunk_vectors: their embeddings, a row for each.
        documents: where the chunks come from.
        settings: ``configuration``, ``models``, ``compiled``, ``corpus`` and ``skipped`` as ``run.json`` has them.
        rejects: what was refused. A review names a reject by its place here, from 1: add further ones at the end.
        reviews: what people said of samples and rejects, in order; those of samples that go are left out when written.
        parents: the runs that all this comes from.
    """

    samples: Sequence[Sample]
    vectors: Vectors = field(repr=False)
    chunks: Sequence[Chunk] = field(repr=False)
    chunk_vectors: Vectors = field(repr=False)
    documents: Sequence[Document] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    rejects: Sequence[Reject] = field(default=(), repr=False)
    reviews: Sequence[Review] = field(default=(), repr=False)
    parents: tuple[Parent, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rows that are not aligned.

        Raises:
            ValueError: there is not one vector for each sample and each chunk.
        """
        for what, items, rows in (
            ("samples", self.samples, self.vectors),
            ("chunks", self.chunks, self.chunk_vectors),
        ):
            if rows.ndim != 2 or len(items) != len(rows):
                raise ValueError(f"{len(items)} {what} and vectors of shape {rows.shape}")

    def only(self, places: Iterable[int]) -> "RunContent":
        """Return the same with those samples alone that stand at ``places``, from 0, in that order."""
        chosen = list(places)
        return replace(self, samples=[self.samples[place] for place in chosen], vectors=self.vectors[chosen])

    def made_by(self, command: str, **options: Any) -> Lineage:
        """Return the lineage of what a command makes of this."""
        return Lineage(command=command, options=options, parents=self.parents)


def unused(name: str, taken: Collection[str]) -> str:
    """Return an id, with a number after it if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def read_content(folder: Path) -> RunContent:
    """Return the content of a run.

    Raises:
        InputError: the folder holds no run, or one without samples.
        DamagedRunError: what it holds is not what a run does.
    """
    with RunStore.read(folder) as store:
        samples = list(store.results.samples())
        if not samples:
            raise InputError(f"the run in {folder} holds no samples")
        chunks, documents = store.chunks(), store.documents()
        check_references(store, samples, chunks, documents)
        lineage = store.meta("lineage")
        parent = Parent(
            name=encodable(folder.resolve().name),
            identity=store.told("digest"),
            samples=len(samples),
            lineage=None if lineage is None else Lineage.model_validate(lineage),
        )
        for needed in (("configuration", "embedder"), *(("models", role, "name") for role in _ROLES), ("compiled",)):
            store.told(*needed)
        # A process that works on the run may have added some since.
        return RunContent(
            samples=samples,
            vectors=np.stack(list(store.results.vectors())[: len(samples)]),
            chunks=chunks,
            chunk_vectors=store.vectors(),
            documents=documents,
            settings={name: store.meta(name) for name in SETTINGS},
            rejects=list(store.results.rejects()),
            reviews=store.reviews.all(),
            parents=(parent,),
        )


def reject_of(sample: Sample, step: str, reason: str) -> Reject:
    """Return the reject that a sample becomes which a step leaves out."""
    return Reject(
        step=step,
        reason=reason,
        chunk_id=sample.contexts[0].chunk_id,
        probability=sample.probability,
        question=sample.question,
    )


def write_run(out: Path, content: RunContent, lineage: Lineage) -> list[str]:
    """Write a run folder that holds ``content``, whole or not at all; return the lines that say what it is.

    Raises:
        InputError: the folder holds something already, or cannot be made.
        RunError: it cannot be written.
    """
    check_free(out)
    digest = _digest(content)
    meta = {
        **{name: content.settings[name] for name in SETTINGS},
        "asked": len(content.samples),
        "identity": {"program": ModelName(__version__, None)._asdict(), "content": digest},
        "digest": digest,
        "lineage": lineage.model_dump(mode="json"),
        "ending": "complete",
    }
    with whole_folder(out, last=database_path(out).name) as aside:
        check_free(out)  # another process may have made a run there before this one was alone
        try:
            with RunStore.create(aside, meta=meta, documents=content.documents, chunks=content.chunks) as store:
                _fill(store, content)
                write_files(store, "complete")
                return account(store, None)
        except GroundsetError as error:
            cause = error.__cause__ or error
            told = cause.strerror if isinstance(cause, OSError) and cause.strerror else cause
            raise RunError(f"--out {out}: cannot be written, and nothing of it is left: {told}") from error


def _fill(store: RunStore, content: RunContent) -> None:
    ids = (chunk.chunk_id for chunk in content.chunks)
    store.learn("vector", ((name, row.tobytes()) for name, row in zip(ids, content.chunk_vectors, strict=True)))
    store.results.add(zip(content.samples, content.vectors, strict=True), content.rejects)
    items = {
        "sample": {sample.id for sample in content.samples},
        "reject": {str(place) for place in range(1, len(content.rejects) + 1)},
    }
    store.reviews.add(*(review for review in content.reviews if review.item in items[review.kind]))
    store.begin_session()


def _digest(content: RunContent) -> str:
    """Return one SHA-256 for what a run holds: the same content is the same run, whatever made it."""
    total = hashlib.sha256(json.dumps(content.settings["models"], sort_keys=True).encode())
    for items in (content.samples, content.chunks, content.rejects):
        total.update(f"{len(items)}\n".encode())
        for item in items:
            total.update(item.model_dump_json().encode())
    return total.hexdigest()
