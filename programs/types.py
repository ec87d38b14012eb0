"""The domain types of programs, which the application fills and stores."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from programs.numbers import Count, Rank, check_numbers


def _check_stored(facts: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Refuse numbers that no format holds where facts are read; those that a user brings are stored as null."""
    return check_numbers(facts) if info.mode == "json" else facts


Facts = Annotated[dict[str, Any], AfterValidator(_check_stored)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Heading(_Frozen):
    """A heading of a document: its level (1 is the highest), text and character offset."""

    level: Count
    text: str
    start: Count


class Document(_Frozen):
    """A source text with a title, as parsed.

    ``text`` is what every chunk's ``start`` and ``end`` index into.
    """

    doc_id: str
    path: str
    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    last_modified: datetime | None = None


class Chunk(_Frozen):
    """A span of a document.

    ``text == document.text[start:end]`` in characters; ``headings`` are those above the span, the
    highest first.
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
    def topic(self) -> str:
        """Return title and headings as the one line that names the chunk's subject in prompts."""
        parts: list[str] = []
        for part in (self.title, *self.headings):
            cleaned = " ".join(part.split())
            if cleaned and cleaned.casefold() not in {seen.casefold() for seen in parts}:
                parts.append(cleaned)
        return " > ".join(parts)


class Focus(_Frozen):
    """What a question is asked about: a sentence of the chunk and the answer span inside it.

    A focus whose ``answer`` is empty is open: whoever asks about the sentence chooses the answer.
    ``resolved`` is the sentence with a name in place of its subject "it", "he" or "she". ``opening`` holds the words
    that its question begins with, as far as form and syntax give them; ``easy`` says whether they make a question
    that is likely to be good, ``defines`` whether it asks what something is.

    Where a model asks freely, a focus without a sentence says only which ``kind`` of question is wanted. One with a
    ``wording`` is what was asked, in these words: its sentence holds the words of the passage that the answer rests on.
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
        """Return the sentence so that it can be understood alone, as far as that is known."""
        return self.resolved or self.sentence


class StepRecord(_Frozen):
    """What one step said about one candidate: the unit of a sample's trail.

    ``probability`` is of the good outcome, where a critic decided; ``verdict`` is ``good``/``bad`` for
    decisions and None for steps that only write; ``candidate`` counts from 0 within the attempt.
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


class Retrieval(_Frozen):
    """The round trip: where the question finds its source chunk among all chunks of the run.

    ``rank`` counts from 1 and is None beyond the search depth; ``retrieved_id`` and
    ``retrieved_content`` are the first hit; ``score`` is 1 if that hit is a ground-truth chunk, else 0.
    """

    rank: Rank | None
    retrieved_id: str
    retrieved_content: str
    score: Literal[0, 1]


class Reject(_Frozen):
    """A candidate that a step refused, kept with the step's name and its reason."""

    step: str
    reason: str
    chunk_id: str
    probability: float | None = None
    question: str | None = None


class Context(_Frozen):
    """A chunk with everything that can be known of it without a language model.

    Attributes:
        chunk: the chunk itself.
        passage, topic: its text and its title with headings, without markup, as prompts and critics see them.
        language: ISO 639-1 code of the passage.
        parsed: whether the syntax of its sentences was read.
        foci: what it can be asked about, the most promising first; of an attempt, what to ask about now.
        grows: for each evolution the places of the foci that can carry it.
        score: what the critic of chunks said, where that costs no call.
        split: the split of its document, if documents are split.
        names: names in it that few other chunks hold, for questions about several chunks.
        before: what stands in the document just before it.
    """

    chunk: Chunk
    passage: str
    topic: str
    language: str
    parsed: bool = False
    foci: tuple[Focus, ...] = ()
    grows: dict[str, tuple[Count, ...]] = Field(default_factory=dict)
    score: StepRecord | None = None
    split: str | None = None
    names: tuple[str, ...] = ()
    before: str = ""


class Draft(_Frozen):
    """A question with its answer that passed every step of a program, before duplicates are refused.

    ``relevant`` holds a group of chunk ids for each chunk that is needed: any one of a group will do.
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
    """One unit of work: one or more contexts, what is wanted of them and the seed that fixes all sampling.

    Attributes:
        number: counts from 0 within a run.
        contexts: one chunk or several, each with the foci to ask about now; without foci, the program looks for some.
        wanted: the name of an evolution.
        asked: foci of these contexts that earlier attempts asked about.
        round: how often these contexts were drawn before.
        seed: fixes what is drawn.
    """

    number: int
    contexts: tuple[Context, ...]
    wanted: str
    asked: tuple[Focus, ...] = ()
    round: int = 0
    seed: int = 0


class Outcome(_Frozen):
    """What a program made of an attempt.

    ``drafts`` come in the order in which they are wanted: an evolved question before the seed that it grew from. One
    of them becomes a sample. ``asked`` are the foci that were asked about; ``exhausted`` says that no further attempt
    on these contexts can succeed.
    """

    drafts: tuple[Draft, ...] = ()
    rejects: tuple[Reject, ...] = ()
    asked: tuple[Focus, ...] = ()
    exhausted: bool = False


class Sample(_Frozen):
    """An accepted question, its contexts, ground-truth answer, evolution and provenance.

    ``retrieval_gt`` holds a group of chunk ids for each chunk that is needed; any one of a group will do.
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


class Retriever(Protocol):
    """Searches all chunks of a run."""

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the chunks most similar to a query, the most similar first."""
        ...

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        """Return the round trip of ``query``: the rank at which the last group of ``relevant`` is found.

        A group is found where the first of its chunks is.
        """
        ...


class Parse(Protocol):
    """Reads the syntax of sentences."""

    def __call__(self, sentence: str, language: str) -> Any | None:
        """Return the sentence as a spaCy document, or None for a language that is not known."""
        ...

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        """Parse sentences in one batch before they are asked for one by one; ignore unknown languages."""
        ...

    def reads(self, language: str) -> bool:
        """Return whether the parser knows a language."""
        ...


class Observer(Protocol):
    """Receives each step as it happens, so that nothing that was paid for is lost."""

    def __call__(self, record: StepRecord) -> None:
        """Take one finished step."""
        ...


class Program(Protocol):
    """The steps of a recipe: one attempt in, one outcome out. Implementations are ``dspy.Module`` classes."""

    def __call__(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run every step of the recipe on one attempt."""
        ...
