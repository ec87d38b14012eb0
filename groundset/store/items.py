"""Access to single samples and rejects of a run: short entries for lists, and complete items.

A run may be large and still growing, so callers poll with the last position they saw.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from groundset.store.database import Database
from programs.text import plain_passage
from programs.trail import NOTHING_TO_ASK
from programs.types import Chunk, Document, Reject, Sample, StepRecord

if TYPE_CHECKING:
    from groundset.store.corpus import CorpusTable
    from groundset.store.run_store import RunStore

Kind = Literal["sample", "reject"]


class Entry(NamedTuple):
    """A line in a list of samples or rejects.

    Attributes:
        position: its position in the run, from 1.
        kind: ``sample`` or ``reject``.
        item: its id in reviews: the id of a sample, the position of a reject.
        question: the question; empty if a chunk was refused before a question was written.
        answer: the ground truth; empty for a reject.
        documents: the files of its chunks.
        evolution, asks, language, split: of a sample; ``asks`` is the question kind.
        step: the step that refused a reject.
    """

    position: int
    kind: Kind
    item: str
    question: str
    answer: str
    documents: tuple[str, ...]
    evolution: str = ""
    asks: str = ""
    language: str = ""
    split: str = ""
    step: str = ""


class ItemTable:
    """Reads single samples, rejects, chunks and documents."""

    def __init__(self, database: Database, corpus: "CorpusTable") -> None:
        """Use the tables in ``database``, and the corpus."""
        self._database = database
        self._corpus = corpus

    def samples(self, after: int = 0) -> Iterator[Entry]:
        """Yield the samples after a position, in order."""
        yield from self._database.read(
            _sample_entry, "SELECT position, record FROM samples WHERE position > ? ORDER BY position", (after,)
        )

    def rejects(self, after: int = 0) -> Iterator[Entry]:
        """Yield the rejects after a position, in order, without chunks that had nothing left to ask."""
        yield from self._database.read(
            _reject_entry,
            "SELECT rejects.position, rejects.record, json_extract(chunks.record, '$.path') FROM rejects "
            "LEFT JOIN chunks ON chunk_id = json_extract(rejects.record, '$.chunk_id') "
            "WHERE rejects.position > ? AND json_extract(rejects.record, '$.reason') != ? ORDER BY rejects.position",
            (after, NOTHING_TO_ASK),
        )

    def sample(self, item: str) -> Sample:
        """Return a sample by its id."""
        [found] = self._database.read(Sample.model_validate_json, "SELECT record FROM samples WHERE id = ?", (item,))
        return found

    def reject(self, item: str) -> tuple[Reject, int | None]:
        """Return a reject by its position, and the number of its attempt if it has one."""
        [found] = self._database.read(
            lambda record, attempt: (Reject.model_validate_json(record), attempt),
            "SELECT record, attempt FROM rejects WHERE position = ?",
            (int(item),),
        )
        return found

    def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks in the order of their ids; unknown ids are skipped."""
        return self._corpus.chosen_chunks(ids)

    def document(self, doc_id: str) -> Document | None:
        """Return a document, None if it is not in the run."""
        return self._corpus.document(doc_id)


def _sample_entry(position: int, record: str) -> Entry:
    sample = Sample.model_validate_json(record)
    return Entry(
        position=position,
        kind="sample",
        item=sample.id,
        question=sample.question,
        answer=sample.answer,
        documents=tuple(dict.fromkeys(chunk.path for chunk in sample.contexts)),
        evolution=sample.evolution,
        asks=str(sample.metadata.get("kind") or ""),
        language=sample.language,
        split=sample.split or "",
    )


def _reject_entry(position: int, record: str, path: Any) -> Entry:
    reject = Reject.model_validate_json(record)
    documents = (path,) if path else ()
    return Entry(position, "reject", str(position), reject.question or "", "", documents, step=reject.step)


_REWORDED = frozenset({"rewrite", "compress", "reword"})  # steps that keep the answer of a question


def refused_rows(store: "RunStore", steps: Container[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for every question refused by ``steps``, by default by any step.

    ``passage`` is the text of the attempt's chunks without markup, or of the reject's chunk in a derived run, which has
    no attempts. ``answer`` is empty if there was none yet.
    """
    chunks = {chunk.chunk_id: chunk for chunk in store.chunks()}
    for position, attempt, reject in store.results.refused_questions():
        if steps is not None and reject.step not in steps:
            continue
        ids = (reject.chunk_id,) if attempt is None else store.attempts.contexts(attempt)
        records, question = [] if attempt is None else store.attempts.steps(attempt), reject.question or ""
        key = "\0".join((question, reject.step, *ids, str(position)))
        yield {
            "id": hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "question": question,
            "answer": _answers(records).get(question, ""),
            "passage": plain_passage(chunks[name].text for name in ids if name in chunks),
            "chunk_ids": list(ids),
            "step": reject.step,
            "reason": reject.reason,
            "probability": reject.probability,
        }


def answer_to(question: str, records: Iterable[StepRecord]) -> str:
    """Return the answer to a question of an attempt from its step records; empty if there was none yet."""
    return _answers(records).get(question, "")


def _answers(records: Iterable[StepRecord]) -> dict[str, str]:
    """Return the latest answers by question."""
    current: dict[int, str] = {}
    answers: dict[str, str] = {}
    for record in records:
        question, answer = record.output.get("question"), record.output.get("answer")
        if isinstance(question, str):
            if record.step in _REWORDED and (before := current.get(record.candidate)) in answers:
                answers[question] = answers[before]
            current[record.candidate] = question
        if isinstance(answer, str) and record.candidate in current:
            answers[current[record.candidate]] = answer
    return answers
