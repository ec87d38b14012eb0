"""One item as a reader sees it: question, answer, passages with what they are about, and what the steps said."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from groundset.review.desk import Desk, Item
from groundset.review.marks import Piece, mark
from groundset.store.pieces import PieceTable
from groundset.store.refused import answer_to
from programs.types import Chunk, StepRecord

_AROUND = 1_000  # characters of the document, on each side of a passage


class ShownPassage(NamedTuple):
    """A chunk in pieces, with the text of its document before and behind it."""

    topic: str
    path: str
    start: int
    end: int
    pieces: Sequence[Piece]
    before: str
    behind: str


class Said(NamedTuple):
    """What a step said: its words, and where a critic decided, its verdict and probability."""

    step: str
    words: Sequence[tuple[str, str]]
    verdict: str
    probability: float | None


class Card(NamedTuple):
    """An item as it is shown.

    Attributes:
        question, answer: as the reader left them.
        first_question, first_answer: as the run made them.
        passages: its chunks.
        trail: what the steps said; numbers and verdicts of critics only once the reader has given one.
        facts: what else is known, by name.
        critics: what the critics made of it; empty until the reader has given a verdict.
    """

    question: str
    answer: str
    first_question: str
    first_answer: str
    passages: Sequence[ShownPassage]
    trail: Sequence[Said]
    facts: Sequence[tuple[str, str]]
    critics: Sequence[tuple[str, str]]


class _Content(NamedTuple):
    question: str
    answer: str
    chunks: Sequence[Chunk]
    foci: Sequence[str]
    trail: Sequence[StepRecord]
    critics: Sequence[tuple[str, str]]


def card_of(desk: Desk, item: Item) -> Card:
    """Return an item as it is shown; when blind, nothing in it tells how it was made."""
    pieces = desk.stores[item.run].pieces
    content = _sample(pieces, item) if desk.kind == "sample" else _reject(desk, pieces, item)
    own = desk.own(item)
    decided = own is not None and own.verdict is not None
    answer = content.answer if own is None or own.answer is None else own.answer
    return Card(
        question=content.question if own is None or own.question is None else own.question,
        answer=answer,
        first_question=content.question,
        first_answer=content.answer,
        passages=[_passage(pieces, chunk, content.foci, answer, blind=desk.blind) for chunk in content.chunks],
        trail=[] if desk.blind else [_said(record, decided) for record in content.trail],
        facts=[] if desk.blind else _facts(desk, item),
        critics=content.critics if decided and not desk.blind else (),
    )


def _sample(pieces: PieceTable, item: Item) -> _Content:
    sample = pieces.sample(item.entry.item)
    noted = sample.metadata.get("focus")
    rank = sample.retrieval.rank
    critics = [("Judge", f"{sample.probability:.2f}"), ("Found by search", f"at rank {rank}" if rank else "not found")]
    # Of an imported sample, it may be anything.
    foci = [noted] if isinstance(noted, str) else [str(focus) for focus in noted] if isinstance(noted, list) else []
    return _Content(sample.question, sample.answer, sample.contexts, foci, sample.trail, critics)


def _reject(desk: Desk, pieces: PieceTable, item: Item) -> _Content:
    reject, attempt = pieces.reject(item.entry.item)
    attempts, question = desk.stores[item.run].attempts, reject.question or ""
    records = [] if attempt is None else attempts.steps(attempt)
    about = {record.candidate for record in records if record.output.get("question") == question}
    said = [record.output for record in records if record.candidate in about]
    foci = [str(output["sentence"]) for output in said if "sentence" in output]
    chunks = pieces.chunks([reject.chunk_id] if attempt is None else attempts.contexts(attempt))
    critics = [("Refused by", f"{reject.step}: {reject.reason}")]
    if reject.probability is not None:
        critics.append(("Score", f"{reject.probability:.2f}"))
    return _Content(question, answer_to(question, records), chunks, foci, records, critics)


def _facts(desk: Desk, item: Item) -> list[tuple[str, str]]:
    entry = item.entry
    run = desk.names[item.run] if len(desk.names) > 1 else ""
    facts = {
        "Evolution": entry.evolution,
        "Asks for": entry.asks,
        "Language": entry.language,
        "Split": entry.split,
        "Id": entry.item if entry.kind == "sample" else "",
        "Run": run,
    }
    return [(name, value) for name, value in facts.items() if value]


def _passage(pieces: PieceTable, chunk: Chunk, foci: Iterable[str], answer: str, *, blind: bool) -> ShownPassage:
    document = pieces.document(chunk.doc_id)
    text = document.text if document else ""
    if text[chunk.start : chunk.end] != chunk.text:
        text = ""  # a chunk of the user's own may stand in no document
    return ShownPassage(
        topic=chunk.topic,
        path="" if blind else chunk.path,
        start=chunk.start,
        end=chunk.end,
        pieces=mark(chunk.text, foci, answer),
        before=text[max(0, chunk.start - _AROUND) : chunk.start] if text else "",
        behind=text[chunk.end : chunk.end + _AROUND],
    )


def _said(record: StepRecord, decided: bool) -> Said:
    words = [
        (name, _plain(value))
        for name, value in record.output.items()
        if value != "" and (decided or isinstance(value, str))
    ]
    if not decided:
        return Said(record.step, words, "", None)
    if record.reason:
        words.append(("reason", record.reason))
    return Said(record.step, words, record.verdict or "", record.probability)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
