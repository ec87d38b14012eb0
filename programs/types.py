"""The domain types."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from programs.numbers import Count, Rank, check_numbers


def _check_stored(facts: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Refuse numbers outside JSON's range in stored facts; in facts from users they become null when stored."""
    return check_numbers(facts) if info.mode == "json" else facts


Facts = Annotated[dict[str, Any], AfterValidator(_check_stored)]


class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True, serialize_by_alias=True
    )


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

    ``captions`` are the paragraphs of ``text`` that its format marks as captions. ``source_digest`` is a hash of the
    content of its file and of the parsers, empty if it was not parsed from a file.
    """

    doc_id: str
    path: str
    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    pages: tuple[PageStart, ...] = ()
    captions: tuple[str, ...] = ()
    last_modified: datetime | None = None
    source_digest: str = ""


class Chunk(_Frozen):
    """A span of a document: ``text == document.text[start:end]``; ``headings`` are those above it, outermost first."""

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
    def topic(self) -> str:
        """Return title and headings as one line, as prompts show them; for a table also its caption and header."""
        facts = self.metadata if self.metadata.get("kind") == "table" else {}
        about = [fact for fact in (facts.get("caption"), facts.get("header")) if isinstance(fact, str)]
        parts: list[str] = []
        for part in (self.title, *self.headings, *about):
            cleaned = " ".join(part.split())
            if cleaned and cleaned.casefold() not in {other.casefold() for other in parts}:
                parts.append(cleaned)
        return " > ".join(parts)


class Focus(_Frozen):
    """The subject of a question: a sentence of the chunk and the answer span inside it.

    In mode ``free``, a focus requests a ``kind`` of question and has no sentence until the question is written.

    Attributes:
        sentence: the sentence; in mode ``free``, the evidence quoted from the passage.
        answer: the answer span; if it is empty (an open focus), the model that asks chooses it.
        resolved: the sentence with a name in place of its subject "it", "he" or "she".
        opening: the first words of the question, as far as the form of the answer and the syntax determine them.
        easy: whether these words make a question that is likely to be good.
        defines: whether the question asks for a definition.
        kind: the kind of question.
        wording: the question already asked; ``sentence`` is then its evidence.
    """

    sentence: str
    answer: str
    resolved: str = ""
    opening: str = ""
    easy: bool = False
    defines: bool = False
    kind: str = ""
    wording: str = ""

    @property
    def fact(self) -> str:
        """Return the sentence with its subject named, if that is known."""
        return self.resolved or self.sentence


class StepRecord(_Frozen):
    """The output of one step for one candidate; a sample's trail is a sequence of these.

    ``probability`` is that of the good outcome, if a critic decided; ``verdict`` is None for steps that only write;
    ``candidate`` counts from 0 within the attempt.
    """

    step: str
    candidate: Count = 0
    output: Facts = Field(default_factory=dict)
    probability: float | None = None
    verdict: Literal["good", "bad"] | None = None
    reason: str | None = None


class Hit(_Frozen):
    """One retrieved chunk with its cosine similarity to the query."""

    chunk_id: str
    text: str
    similarity: float
    topic: str = ""


class Retrieval(_Frozen):
    """The round trip: the rank of the source chunk when the question is the query.

    ``rank`` counts from 1 and is None beyond the search depth; ``retrieved_id`` and ``retrieved_content`` are the first
    hit; ``score`` is 1 if that hit is a ground-truth chunk, else 0.
    """

    rank: Rank | None
    retrieved_id: str
    retrieved_content: str
    score: Literal[0, 1]


class Reject(_Frozen):
    """A candidate that a step refused, with the reason."""

    step: str
    reason: str
    chunk_id: str
    probability: float | None = None
    question: str | None = None


class Context(_Frozen):
    """A chunk with its analysis, which needs no language model.

    Attributes:
        chunk: the chunk.
        passage, topic: its text and its title with headings, without markup, as prompts and critics see them.
        language: ISO 639-1 code of the passage.
        parsed: whether its sentences were parsed.
        foci: the possible foci, the most promising first; in an attempt, the foci to ask about.
        evolvable: for each evolution, the indices of the foci that it can be applied to.
        score: the decision of the chunk critic, if that needed no call.
        split: the split of its document, if documents are split.
        names: names in it that occur in few other chunks, for questions about several chunks.
        before: the end of the text before it in the document.
    """

    chunk: Chunk
    passage: str
    topic: str
    language: str
    parsed: bool = False
    foci: tuple[Focus, ...] = ()
    # Stored runs have the key "grows".
    evolvable: dict[str, tuple[Count, ...]] = Field(
        default_factory=dict, validation_alias="grows", serialization_alias="grows"
    )
    score: StepRecord | None = None
    split: str | None = None
    names: tuple[str, ...] = ()
    before: str = ""

    def with_foci(self, *foci: Focus) -> Self:
        """Return the context of an attempt on some foci; without any, the program looks for foci."""
        return self.model_copy(update={"foci": foci, "evolvable": {}})


class Draft(_Frozen):
    """A question with its answer that passed every step, before the check for duplicates.

    ``relevant`` holds a group of chunk ids for each needed chunk; any one of a group is enough. It is empty if no chunk
    answers the question.
    """

    question: str
    answer: str
    evolution: str
    contexts: tuple[Chunk, ...]
    relevant: tuple[tuple[str, ...], ...]
    retrieval: Retrieval
    probability: float
    split: str | None = None
    trail: tuple[StepRecord, ...] = ()
    metadata: Facts = Field(default_factory=dict)


class Attempt(_Frozen):
    """One unit of work: contexts and the evolution wanted of them.

    Attributes:
        number: counts from 0 within a run.
        contexts: one chunk or several, with the foci to ask about; if there are none, the program looks for some.
        wanted: the name of an evolution.
        others: further evolutions that are possible and missing, the most missing first.
        used_foci: foci of these contexts that earlier attempts asked about.
        round: how often these contexts were drawn before.
        seed: the seed of all sampling.
        repeats: the number of an earlier attempt, if its stored outcome is to be decided again.
    """

    number: int
    contexts: tuple[Context, ...]
    wanted: str
    others: tuple[str, ...] = ()
    used_foci: tuple[Focus, ...] = ()
    round: int = 0
    seed: int = 0
    repeats: int | None = None


class Outcome(_Frozen):
    """The result of an attempt.

    Attributes:
        drafts: in order of preference, an evolved question before its seed; at most one becomes a sample.
        rejects: the refused candidates.
        used_foci: the foci that were asked about.
        exhausted: whether no further attempt on these contexts can succeed.
    """

    drafts: tuple[Draft, ...] = ()
    rejects: tuple[Reject, ...] = ()
    # Stored runs have the key "asked".
    used_foci: tuple[Focus, ...] = Field(default=(), validation_alias="asked", serialization_alias="asked")
    exhausted: bool = False


class Sample(_Frozen):
    """An accepted question, its contexts, ground-truth answer, evolution and provenance.

    ``retrieval_gt`` holds a group of chunk ids for each needed chunk; any one of a group is enough. It is empty if no
    chunk answers the question; ``contexts`` are then the chunks that it was made from.
    """

    id: str
    question: str
    answer: str
    evolution: str
    language: str
    contexts: tuple[Chunk, ...]
    retrieval_gt: tuple[tuple[str, ...], ...]
    retrieval: Retrieval
    probability: float
    split: str | None = None
    trail: tuple[StepRecord, ...]
    metadata: Facts = Field(default_factory=dict)

    @property
    def profile(self) -> dict[str, str]:
        """Return the value of each dimension of the profile in its metadata; empty if it has none."""
        profile = self.metadata.get("profile")
        return {str(name): str(value) for name, value in profile.items()} if isinstance(profile, dict) else {}

    @property
    def answerable(self) -> bool:
        """Return whether chunks answer the question."""
        return bool(self.retrieval_gt)

    @property
    def conversation(self) -> list[dict[str, str]] | None:
        """Return the chat messages whose last one is the follow-up of this question, None for other questions."""
        messages = self.metadata.get("conversation")
        try:  # imported samples may have any value here
            return [{key: str(message[key]) for key in ("role", "content")} for message in messages or ()] or None
        except (TypeError, KeyError):
            return None


class Retriever(Protocol):
    """Searches all chunks of a run."""

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        ...

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        """Return the round trip of ``query``: the rank of the last group of ``relevant``.

        The rank of a group is that of its first chunk to be found.
        """
        ...


class Parse(Protocol):
    """Parses sentences."""

    def __call__(self, sentence: str, language: str) -> Any | None:
        """Return the sentence as a spaCy document, None if the language is not supported."""
        ...

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        """Parse and cache sentences in one batch; ignore unsupported languages."""
        ...

    def reads(self, language: str) -> bool:
        """Return whether the parser supports a language."""
        ...


class Observer(Protocol):
    """Receives each record as its step ends, so that it can be stored at once."""

    def __call__(self, record: StepRecord) -> None:
        """Receive the record of a finished step."""
        ...


class Program(Protocol):
    """The program of a recipe. Implementations are ``dspy.Module`` classes."""

    def __call__(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        ...
