"""The domain types, as JSON stores them."""

import math
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from groundset.programs.text import plain

_MOST = 1 << 31  # limit of counts; far above any real one, and supported by every format
_LARGEST = 1 << 63
_Value = TypeVar("_Value")


def check_numbers(value: _Value) -> _Value:
    """Return a JSON value unchanged if all its numbers are finite and fit 64 bits.

    Raises:
        ValueError: a number is not finite or too large.
    """
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            check_numbers(each)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number is not finite")
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("a number does not fit 64 bits")
    return value


Count = Annotated[int, Field(ge=0, lt=_MOST)]
Rank = Annotated[int, Field(ge=1, lt=_MOST)]
Facts = Annotated[dict[str, Any], AfterValidator(check_numbers)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Heading(_Frozen):
    """A heading of a document: its level (1 is the highest), text and character offset."""

    level: Count
    text: str
    start: Count


class PageStart(_Frozen):
    """The offset at which a part of a document from this page starts; pages count from 1."""

    page: Count
    start: Count


class Document(_Frozen):
    """A parsed source text; the ``start`` and ``end`` of its chunks are offsets into ``text``.

    ``captions`` are the paragraphs of ``text`` that its format marks as captions.
    """

    doc_id: str
    path: str
    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    pages: tuple[PageStart, ...] = ()
    captions: tuple[str, ...] = ()
    last_modified: datetime | None = None


class Chunk(_Frozen):
    """A span of a document: ``text == document.text[start:end]``; ``headings`` are those above it,
    outermost first.
    """

    chunk_id: str
    doc_id: str
    path: str
    title: str
    headings: tuple[str, ...] = ()
    start: Count
    end: Count
    text: str
    metadata: Facts = Field(default_factory=dict)

    @property
    def passage(self) -> str:
        """Return the text without markup, as prompts show it."""
        return plain(self.text)

    @property
    def topic(self) -> str:
        """Return title and headings as one line, as prompts show them; for a table also its caption
        and header.
        """
        facts = self.metadata if self.metadata.get("kind") == "table" else {}
        about = [
            fact for fact in (facts.get("caption"), facts.get("header")) if isinstance(fact, str)
        ]
        parts: dict[str, str] = {}
        for part in (self.title, *self.headings, *about):
            if cleaned := " ".join(part.split()):
                parts.setdefault(cleaned.casefold(), cleaned)
        return " > ".join(parts.values())


class StepRecord(_Frozen):
    """What one step said in an attempt; the trail of a sample is a sequence of these."""

    step: str
    output: Facts = Field(default_factory=dict)
    probability: float | None = None


class Reject(_Frozen):
    """A chunk or question that a step refused, with the reason."""

    step: str
    reason: str
    question: str | None = None
    probability: float | None = None
    chunk_id: str = ""


class Retrieval(_Frozen):
    """The round trip of a question: a search of all chunks for it.

    ``rank`` is that of the last group of ``retrieval_gt``, from 1, None beyond the search depth;
    ``retrieved_id`` and ``retrieved_content`` are the first hit; ``score`` is 1 if that hit is a
    ground-truth chunk, else 0.
    """

    rank: Rank | None
    retrieved_id: str
    retrieved_content: str
    score: Literal[0, 1]


class Sample(_Frozen):
    """An accepted question with its contexts, ground-truth answer and provenance.

    ``retrieval_gt`` holds a group of chunk ids for each needed chunk; any one of a group is enough.
    It is empty if no chunk answers the question; ``contexts`` are then the chunks that it was made
    from. Of imported samples ``metadata`` may have any value; the properties are then empty.
    """

    id: str
    question: str
    answer: str
    evolution: str
    language: str
    contexts: tuple[Chunk, ...]
    retrieval_gt: tuple[tuple[str, ...], ...]
    retrieval: Retrieval
    probability: float | None = None
    trail: tuple[StepRecord, ...] = ()
    metadata: Facts = Field(default_factory=dict)

    @property
    def evidence(self) -> list[str]:
        """Return the words of the passages that the answer rests on."""
        evidence = self.metadata.get("evidence")
        return [evidence] if isinstance(evidence, str) else list(map(str, self._listed("evidence")))

    @property
    def kind(self) -> str | None:
        """Return the kind of the question, if known."""
        kind = self.metadata.get("kind")
        return None if kind is None else str(kind)

    @property
    def conversation(self) -> list[dict[str, str]] | None:
        """Return the messages of a conversation, of which the question is the stand-alone form of
        the last; or None.
        """
        names = ("role", "content")
        try:
            messages = [
                {name: str(message[name]) for name in names}
                for message in self._listed("conversation")
            ]
        except (TypeError, KeyError):
            return None
        return messages or None

    @property
    def other_answers(self) -> list[str]:
        """Return the further reference answers, which imported sets can have."""
        return [text for text in self._listed("answer_variants") if isinstance(text, str)]

    @property
    def variants(self) -> list[dict[str, Any]]:
        """Return the answers that other passages give instead."""
        return [each for each in self._listed("variants") if isinstance(each, dict)]

    def _listed(self, name: str) -> list[Any]:
        values = self.metadata.get(name)
        return values if isinstance(values, list) else []


class Hit(NamedTuple):
    """A passage that a search found, as prompts show it, with its similarity to the query."""

    chunk_id: str
    passage: str
    topic: str
    similarity: float
