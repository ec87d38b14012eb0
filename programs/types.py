"""The domain types, as JSON stores them."""

import math
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_serializer,
    model_validator,
)

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


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_message(value: dict[str, str]) -> dict[str, str]:
    if not value.keys() >= {"role", "content"}:
        raise ValueError("a message has a role and a content")
    return value


Count = Annotated[int, Field(ge=0, lt=_MOST)]
Rank = Annotated[int, Field(ge=1, lt=_MOST)]
Message = Annotated[dict[str, str], AfterValidator(_check_message)]
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
        """Return title and headings as one line, as prompts show them, each said once; for a table
        also its caption and header.
        """
        facts = self.metadata if self.metadata.get("kind") == "table" else {}
        about = [
            fact for fact in (facts.get("caption"), facts.get("header")) if isinstance(fact, str)
        ]
        title = " ".join(self.title.split())
        parts = dict.fromkeys(title.casefold().split(": "), "") | {title.casefold(): title}
        for part in (*self.headings, *about):
            cleaned = " ".join(part.split())
            parts.setdefault(cleaned.casefold(), cleaned)
        return " > ".join(filter(None, parts.values()))


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


_FACT = Field(exclude=True)  # of a sample that stands in its metadata in files


class Sample(_Frozen):
    """An accepted question with its contexts, ground-truth answer and provenance.

    ``retrieval_gt`` holds a group of chunk ids for each needed chunk; any one of a group is enough.
    It is empty if no chunk answers the question; ``contexts`` are then the chunks that it was made
    from. What comes after ``metadata`` stands in it in files; of imported samples it may have any
    value there, and stays there if that is no such value.
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
    # The words of the passages that the answer rests on.
    evidence: Annotated[tuple[str, ...], BeforeValidator(_listed), _FACT] = ()
    kind: Annotated[str | None, _FACT] = None
    # Its messages, of which the question is the stand-alone form of the last.
    conversation: Annotated[tuple[Message, ...], _FACT] = ()
    variants: Annotated[tuple[Facts, ...], _FACT] = ()  # answers that other passages give instead
    # What the judge read for a question of the user, and in which order a search finds the chunks.
    readings: Annotated[tuple[Facts, ...], _FACT] = ()
    ranking: Annotated[tuple[str, ...], _FACT] = ()
    # What became of it in other documents, and its evidence before, where that is worded otherwise.
    aligned: Annotated[str | None, _FACT] = None
    evidence_before: Annotated[tuple[str, ...] | None, _FACT] = None
    _keys: tuple[str, ...] = ()  # of the metadata, as they were read

    @model_validator(mode="wrap")
    @classmethod
    def _from_files(cls, values: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        facts = values.get("metadata") if isinstance(values, dict) else None
        if not isinstance(facts, dict):
            return build(values)

        def parts(names: set[str]) -> dict[str, Any]:
            rest = {name: value for name, value in facts.items() if name not in names}
            return {**values, **{name: facts[name] for name in names}, "metadata": rest}

        known = {name for name in _FACTS if facts.get(name) is not None}
        try:
            sample = build(parts(known))
        except ValidationError as error:
            odd = {str(each["loc"][0]) for each in error.errors()}
            sample = build(parts(known - odd))
        sample._keys = tuple(facts)
        return sample

    @field_serializer("metadata")
    def _for_files(self, rest: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata with what has a field, in the order in which they were read."""
        had = set(self._keys) - rest.keys()
        values = {name: getattr(self, name) for name in _FACTS}
        own = {
            name: value
            for name, value in values.items()
            if value or (value is not None and name in had)
        }
        told = rest | own
        names = dict.fromkeys((*self._keys, *own, *rest))
        return {name: told[name] for name in names if name in told}

    @property
    def other_answers(self) -> list[str]:
        """Return the further reference answers, which imported sets can have."""
        texts = self.metadata.get("answer_variants")
        return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []


# The keys of a sample in files, and those of its metadata that have a field.
COLUMNS = tuple(name for name, field in Sample.model_fields.items() if not field.exclude)
_FACTS = tuple(name for name in Sample.model_fields if name not in COLUMNS)


class Hit(NamedTuple):
    """A passage that a search found, as prompts show it, with its similarity to the query."""

    chunk_id: str
    passage: str
    topic: str
    similarity: float
