"""Prepare an item for display: passages with focus and answer marked, facts, and the output of steps."""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from groundset.review.session import ListedItem, ReviewSession
from groundset.store.items import ItemTable, answer_to
from programs.types import Chunk, StepRecord

Span = tuple[int, int]

_SURROUNDING = 1_000  # characters shown before and after a passage
_MAX_MATCHES = 10_000  # limits the time of pathological searches


class Piece(NamedTuple):
    """A part of a passage that is covered by the focus, the answer, both or neither."""

    text: str
    focus: bool
    answer: bool


class ReviewPassage(NamedTuple):
    """A chunk in pieces, with the surrounding text of its document."""

    topic: str
    path: str
    start: int
    end: int
    pieces: Sequence[Piece]
    before: str
    after: str


class StepOutput(NamedTuple):
    """The output of a step, with the verdict and probability of its critic, if any."""

    step: str
    texts: Sequence[tuple[str, str]]
    verdict: str
    probability: float | None


class ReviewItem(NamedTuple):
    """An item prepared for display.

    Attributes:
        question, answer: with the reviewer's corrections.
        first_question, first_answer: as generated.
        passages: the chunks.
        trail: the output of steps; numbers and verdicts of critics are hidden until the reviewer has given a verdict.
        facts: other facts by name.
        critics: decisions of critics; empty until the reviewer has given a verdict.
        messages: the conversation whose last message the question is the stand-alone form of, if any.
        answerable: whether a passage is to answer the question.
    """

    question: str
    answer: str
    first_question: str
    first_answer: str
    passages: Sequence[ReviewPassage]
    trail: Sequence[StepOutput]
    facts: Sequence[tuple[str, str]]
    critics: Sequence[tuple[str, str]]
    messages: Sequence[Mapping[str, str]]
    answerable: bool


class _Content(NamedTuple):
    question: str
    answer: str
    chunks: Sequence[Chunk]
    foci: Sequence[str]
    trail: Sequence[StepRecord]
    critics: Sequence[tuple[str, str]]
    messages: Sequence[Mapping[str, str]] = ()
    answerable: bool = True


class LetterIndex:
    """Finds words in a text, ignoring case, white space and markup."""

    def __init__(self, text: str) -> None:
        self._text = text
        folded = [(offset, letter.casefold()) for offset, letter in enumerate(text) if letter.isalnum()]
        self._letters = "".join(letters for _, letters in folded)
        self._offsets = [offset for offset, letters in folded for _ in letters]

    def find(self, words: str, within: Span | None = None) -> Span | None:
        """Return the first span of words (whole words, in scripts with spaces), None if they do not occur."""
        letters, position = LetterIndex(words)._letters, -1
        for _ in range(_MAX_MATCHES if letters else 0):
            position = self._letters.find(letters, position + 1)
            if position < 0:
                break
            start, last = self._offsets[position], self._offsets[position + len(letters) - 1]
            inside = within is None or (within[0] <= start and last < within[1])
            if inside and self._is_boundary(start - 1, start) and self._is_boundary(last, last + 1):
                return start, last + 1
        return None

    def _is_boundary(self, before: int, after: int) -> bool:
        """Return whether a word can end between two adjacent offsets."""
        if before < 0 or after >= len(self._text):
            return True
        sides = self._text[before], self._text[after]
        if not all(side.isalnum() for side in sides):
            return True
        return any(unicodedata.category(side) == "Lo" for side in sides)  # includes scripts without spaces


def review_item(session: ReviewSession, item: ListedItem) -> ReviewItem:
    """Prepare an item for display; if blind, it does not reveal its run."""
    items, blind = session.stores[item.run].items, session.blind
    content = _sample(items, item) if session.kind == "sample" else _reject(session, items, item)
    review = session.own(item)
    decided = review is not None and review.verdict is not None
    answer = content.answer if review is None or review.answer is None else review.answer
    return ReviewItem(
        question=content.question if review is None or review.question is None else review.question,
        answer=answer,
        first_question=content.question,
        first_answer=content.answer,
        passages=[_passage(items, chunk, content.foci, answer, blind=blind) for chunk in content.chunks],
        trail=[] if blind else [_output(record, decided) for record in content.trail],
        facts=[] if blind else _facts(session, item),
        critics=content.critics if decided and not blind else (),
        messages=content.messages,
        answerable=content.answerable,
    )


def mark(text: str, foci: Iterable[str], answer: str) -> list[Piece]:
    """Split a passage into pieces, marking foci and the answer.

    The answer is marked within foci, or anywhere if no focus contains it.
    """
    index = LetterIndex(text)
    focus_spans = [span for span in map(index.find, foci) if span]
    answer_spans = [span for span in (index.find(answer, within) for within in focus_spans) if span]
    if not answer_spans and (span := index.find(answer)):
        answer_spans = [span]
    edges = sorted({0, len(text), *(edge for span in (*focus_spans, *answer_spans) for edge in span)})
    return [
        Piece(text[start:end], _covers(focus_spans, start), _covers(answer_spans, start))
        for start, end in pairwise(edges)
    ]


def _covers(spans: Iterable[Span], offset: int) -> bool:
    return any(start <= offset < end for start, end in spans)


def _sample(items: ItemTable, item: ListedItem) -> _Content:
    sample = items.sample(item.entry.item)
    focus = sample.metadata.get("focus")
    rank = sample.retrieval.rank
    critics = [("Judge", f"{sample.probability:.2f}")]
    if sample.answerable:
        critics.append(("Found by search", f"at rank {rank}" if rank else "not found"))
    # Imported samples may have any value here.
    foci = [focus] if isinstance(focus, str) else [str(part) for part in focus] if isinstance(focus, list) else []
    return _Content(
        sample.question,
        sample.answer,
        sample.contexts,
        foci,
        sample.trail,
        critics,
        sample.conversation or (),
        sample.answerable,
    )


def _reject(session: ReviewSession, items: ItemTable, item: ListedItem) -> _Content:
    reject, attempt = items.reject(item.entry.item)
    attempts, question = session.stores[item.run].attempts, reject.question or ""
    records = [] if attempt is None else attempts.steps(attempt)
    candidates = {record.candidate for record in records if record.output.get("question") == question}
    outputs = [record.output for record in records if record.candidate in candidates]
    foci = [str(output["sentence"]) for output in outputs if "sentence" in output]
    chunks = items.chunks([reject.chunk_id] if attempt is None else attempts.contexts(attempt))
    critics = [("Refused by", f"{reject.step}: {reject.reason}")]
    if reject.probability is not None:
        critics.append(("Score", f"{reject.probability:.2f}"))
    return _Content(question, answer_to(question, records), chunks, foci, records, critics)


def _facts(session: ReviewSession, item: ListedItem) -> list[tuple[str, str]]:
    entry = item.entry
    facts = {
        "Evolution": entry.evolution,
        "Asks for": entry.asks,
        "Language": entry.language,
        "Split": entry.split,
        "Id": entry.item if entry.kind == "sample" else "",
        "Run": session.names[item.run] if len(session.names) > 1 else "",
    }
    return [(name, value) for name, value in facts.items() if value]


def _passage(items: ItemTable, chunk: Chunk, foci: Iterable[str], answer: str, *, blind: bool) -> ReviewPassage:
    document = items.document(chunk.doc_id)
    text = document.text if document else ""
    if text[chunk.start : chunk.end] != chunk.text:
        text = ""  # the user's own chunks may not match their document
    return ReviewPassage(
        topic=chunk.topic,
        path="" if blind else chunk.path,
        start=chunk.start,
        end=chunk.end,
        pieces=mark(chunk.text, foci, answer),
        before=text[max(0, chunk.start - _SURROUNDING) : chunk.start],
        after=text[chunk.end : chunk.end + _SURROUNDING],
    )


def _output(record: StepRecord, decided: bool) -> StepOutput:
    texts = [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in record.output.items()
        if value != "" and (decided or isinstance(value, str))
    ]
    if not decided:
        return StepOutput(record.step, texts, "", None)
    if record.reason:
        texts.append(("reason", record.reason))
    return StepOutput(record.step, texts, record.verdict or "", record.probability)
