"""The questions that a run refused, as rows that can be read, mended and judged again."""

import hashlib
from collections.abc import Container, Iterable, Iterator
from typing import Any

from groundset.store.run_store import RunStore
from programs.text import plain_passage
from programs.types import StepRecord

_REWORDED = frozenset({"rewrite", "compress"})  # steps after which a question still has the answer that it had


def refused_rows(store: RunStore, steps: Container[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for every refused question, or for those that some steps refused.

    ``passage`` holds the chunks of its attempt, without markup; ``answer`` is empty where none was known yet. A run
    that was made from others holds no attempts: there, the passage is the one chunk that a reject names.
    """
    chunks = {chunk.chunk_id: chunk for chunk in store.chunks()}
    for position, attempt, reject in store.results.refused_questions():
        if steps is not None and reject.step not in steps:
            continue
        ids = (reject.chunk_id,) if attempt is None else store.attempts.contexts(attempt)
        records, question = [] if attempt is None else store.attempts.steps(attempt), reject.question or ""
        told = "\0".join((question, reject.step, *ids, str(position)))
        yield {
            "id": hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "question": question,
            "answer": _answers(records).get(question, ""),
            "passage": plain_passage(chunks[name].text for name in ids if name in chunks),
            "chunk_ids": list(ids),
            "step": reject.step,
            "reason": reject.reason,
            "probability": reject.probability,
        }


def answer_to(question: str, records: Iterable[StepRecord]) -> str:
    """Return the answer to a question of an attempt, by what its steps said; empty where none was known yet."""
    return _answers(records).get(question, "")


def _answers(records: Iterable[StepRecord]) -> dict[str, str]:
    """Return the latest answer to each question of an attempt, as far as one was meant or written."""
    asked: dict[int, str] = {}
    answers: dict[str, str] = {}
    for record in records:
        question, answer = record.output.get("question"), record.output.get("answer")
        if isinstance(question, str):
            if record.step in _REWORDED and (before := asked.get(record.candidate)) in answers:
                answers[question] = answers[before]
            asked[record.candidate] = question
        if isinstance(answer, str) and record.candidate in asked:
            answers[asked[record.candidate]] = answer
    return answers
