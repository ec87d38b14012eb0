"""One item as a reviewer sees it: question, answer, passages with focus and answer marked, and what the steps wrote."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from groundset.review.session import ListedItem, ReviewSession
from groundset.store.items import ItemTable, answer_to
from programs.types import Chunk, StepRecord

Span = tuple[int, int]

_AROUND = 1_000  # characters of the document, on each side of a passage
_TRIES = 10_000  # a text of one letter holds an answer of one letter at every place


class Piece(NamedTuple):
    """A piece of a passage, and whether the focus and the answer cover it."""

    text: str
    focus: bool
    answer: bool


class ReviewPassage(NamedTuple):
    """A chunk in pieces, with the text of its document before and behind it."""

    topic: str
    path: str
    start: int
    end: int
    pieces: Sequence[Piece]
    before: str
    behind: str


class StepOutput(NamedTuple):
    """What a step wrote, and where a critic decided, its verdict and probability."""

    step: str
    texts: Sequence[tuple[str, str]]
    verdict: str
    probability: float | None


class ReviewItem(NamedTuple):
    """An item as it is shown.

    Attributes:
        question, answer: as the reviewer left them.
        first_question, first_answer: as the run made them.
        passages: its chunks.
        trail: what the steps wrote; numbers and verdicts of critics only once the reviewer has given one.
        facts: what else is known, by name.
        critics: the decisions of critics; empty until the reviewer has given a verdict.
    """

    question: str
    answer: str
    first_question: str
    first_answer: str
    passages: Sequence[ReviewPassage]
    trail: Sequence[StepOutput]
    facts: Sequence[tuple[str, str]]
    critics: Sequence[tuple[str, str]]


class _Content(NamedTuple):
    question: str
    answer: str
    chunks: Sequence[Chunk]
    foci: Sequence[str]
    trail: Sequence[StepRecord]
    critics: Sequence[tuple[str, str]]


class Letters:
    """The letters and digits of a text in lower case, each with its place."""

    def __init__(self, text: str) -> None:
        self._text = text
        folded = [(place, letter.casefold()) for place, letter in enumerate(text) if letter.isalnum()]
        self._letters = "".join(letters for _, letters in folded)
        self._places = [place for place, letters in folded for _ in letters]

    def find(self, words: str, within: Span | None = None) -> Span | None:
        """Return where words stand first, whole words where the script has spaces; None if they do not."""
        wanted, at = Letters(words)._letters, -1
        for _ in range(_TRIES if wanted else 0):
            at = self._letters.find(wanted, at + 1)
            if at < 0:
                break
            start, last = self._places[at], self._places[at + len(wanted) - 1]
            inside = within is None or (within[0] <= start and last < within[1])
            if inside and self._edge(start - 1, start) and self._edge(last, last + 1):
                return start, last + 1
        return None

    def _edge(self, before: int, after: int) -> bool:
        """Return whether a word can end between two neighbouring characters."""
        if before < 0 or after >= len(self._text):
            return True
        sides = self._text[before], self._text[after]
        if not all(side.isalnum() for side in sides):
            return True
        return any(unicodedata.category(side) == "Lo" for side in sides)  # scripts without spaces, among others


def review_item(session: ReviewSession, item: ListedItem) -> ReviewItem:
    """Return an item as it is shown; when blind, nothing in it reveals how it was made."""
    items, blind = session.stores[item.run].items, session.blind
    content = _sample(items, item) if session.kind == "sample" else _reject(session, items, item)
    own = session.own(item)
    decided = own is not None and own.verdict is not None
    answer = content.answer if own is None or own.answer is None else own.answer
    return ReviewItem(
        question=content.question if own is None or own.question is None else own.question,
        answer=answer,
        first_question=content.question,
        first_answer=content.answer,
        passages=[_passage(items, chunk, content.foci, answer, blind=blind) for chunk in content.chunks],
        trail=[] if blind else [_output(record, decided) for record in content.trail],
        facts=[] if blind else _facts(session, item),
        critics=content.critics if decided and not blind else (),
    )


def mark(text: str, foci: Iterable[str], answer: str) -> list[Piece]:
    """Return a passage in pieces, in order: together they are the text.

    Markup and line ends may stand between the letters of a focus. The answer is marked where it stands in a focus; in
    the whole text only if no focus holds it.
    """
    letters = Letters(text)
    focused = [span for span in map(letters.find, foci) if span]
    answered = [span for span in (letters.find(answer, within) for within in focused) if span]
    if not answered and (found := letters.find(answer)):
        answered = [found]
    edges = sorted({0, len(text), *(edge for span in (*focused, *answered) for edge in span)})
    return [Piece(text[start:end], _covers(focused, start), _covers(answered, start)) for start, end in pairwise(edges)]


def _covers(spans: Iterable[Span], place: int) -> bool:
    return any(start <= place < end for start, end in spans)


def _sample(items: ItemTable, item: ListedItem) -> _Content:
    sample = items.sample(item.entry.item)
    focus = sample.metadata.get("focus")
    rank = sample.retrieval.rank
    critics = [("Judge", f"{sample.probability:.2f}"), ("Found by search", f"at rank {rank}" if rank else "not found")]
    # Of an imported sample, it may be anything.
    foci = [focus] if isinstance(focus, str) else [str(each) for each in focus] if isinstance(focus, list) else []
    return _Content(sample.question, sample.answer, sample.contexts, foci, sample.trail, critics)


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
        text = ""  # a chunk of the user's own may stand in no document
    return ReviewPassage(
        topic=chunk.topic,
        path="" if blind else chunk.path,
        start=chunk.start,
        end=chunk.end,
        pieces=mark(chunk.text, foci, answer),
        before=text[max(0, chunk.start - _AROUND) : chunk.start],
        behind=text[chunk.end : chunk.end + _AROUND],
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
