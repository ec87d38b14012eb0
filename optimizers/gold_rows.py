"""Gold rows: what a step should write, in the terms of its signature; one row type for each step."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from optimizers.labels import Split
from programs.text import has_words

Kind = Literal[
    "why", "how", "what_if", "comparison", "purpose", "condition", "amount",
    "place", "time", "person", "definition", "list", "yes_no", "what",
]  # fmt: skip
NOT_STATED = "not stated"


def _one_question(text: str) -> str:
    if not text.endswith("?") or text.count("?") != 1:
        raise ValueError("a question ends with its only question mark")
    return text


Text = Annotated[str, Field(min_length=1)]
Question = Annotated[str, AfterValidator(_one_question)]


class GoldRow(BaseModel):
    """What every gold row has; a key that its type does not know is a fault, and what its ``_faults`` yields.

    ``licence`` is that of a row which others published; whatever learns from it says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    id: Text
    language: Text
    split: Split
    kind: str = ""
    licence: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Return what no other row has."""
        return self.id, 1

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the documents that it comes from."""
        raise NotImplementedError

    def _faults(self) -> Iterator[str]:
        raise NotImplementedError

    @model_validator(mode="after")
    def _refuse_faults(self) -> Self:
        for fault in self._faults():
            raise ValueError(fault)
        return self


def licences_of(rows: Iterable[object]) -> list[str]:
    """Return the licences of the gold rows among rows that others published, each once."""
    return sorted({row.licence for row in rows if isinstance(row, GoldRow) and row.licence})


class _OfOneChunk(GoldRow):
    document: Text
    chunk: Text

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.document,)


class _OfSeveralChunks(GoldRow):
    documents: tuple[Text, ...] = Field(min_length=1)
    chunks: tuple[Text, ...] = Field(min_length=1)

    @property
    def sources(self) -> tuple[str, ...]:
        return self.documents


class QuestionGold(_OfOneChunk):
    """A question about one fact; ``before`` are up to two sentences before it, ``reply`` answers yes or no."""

    step: Literal["question"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Question
    kind: Kind
    reply: Text | None = None

    def _faults(self) -> Iterator[str]:
        yield from _not_within(self.answer, self.fact)
        if self.kind != "yes_no":
            yield from _given_away(self.answer, self.question)
        if (self.kind == "yes_no") != (self.reply is not None):
            yield "a yes_no question has a reply, any other has none"


class SoundGold(_OfOneChunk):
    """A question and its answer, read: whether they are sound for their fact; ``kind`` says what is wrong."""

    step: Literal["sound"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Text
    sound: bool
    kind: Literal["", "alone", "form", "unclear", "unanswerable", "wrong", "gives_away", "senseless"]

    def _faults(self) -> Iterator[str]:
        if self.sound != (not self.kind):
            yield "what is sound has no kind of fault, and what is not has one"


class _ComparedGold(_OfOneChunk):
    """Two texts, read: whether they say the same; ``kind`` says how they differ."""

    first: Text
    second: Text
    alike: bool

    @property
    def good(self) -> bool:
        """Say whether the decision about them is yes."""
        return self.alike

    @property
    def reason(self) -> str:
        """Return how they differ, "ok" if they do not."""
        return self.kind or "ok"

    def _faults(self) -> Iterator[str]:
        if self.alike != (not self.kind):
            yield "what is alike has no kind of difference, and what is not has one"
        yield from _unchanged(self.first, self.second)


class SameGold(_ComparedGold):
    """A seed question and what an evolution made of it: whether both ask the same in the same depth."""

    step: Literal["same"]
    kind: Literal["", "changed"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"first": self.first, "second": self.second}


class AgreeGold(_ComparedGold):
    """The answer that was meant and one that a reader gave: whether they agree."""

    step: Literal["agree"]
    question: Question
    kind: Literal["", "fact", "missing", "other"]

    @property
    def inputs(self) -> dict[str, str]:
        """Return what a critic is asked about."""
        return {"question": self.question, "first": self.first, "second": self.second}


class DescribeGold(_OfOneChunk):
    """A name of a fact, and a phrase that can stand in its place, made of what the fact says of it."""

    step: Literal["describe"]
    topic: str
    fact: Text
    name: Text
    phrase: Text

    def _faults(self) -> Iterator[str]:
        if self.name not in self.fact:
            yield "the name does not stand in the fact"
        if has_words(self.phrase, self.name):
            yield f"the phrase holds the name: {self.phrase}"


class AnswerGold(_OfOneChunk):
    """The answer to a question: words of the passage, a reply to a yes_no question, or "not stated"."""

    step: Literal["answer"]
    topic: str
    passage: Text
    question: Text
    answer: Text
    kind: Literal["words", "yes_no", "not_stated"]

    def _faults(self) -> Iterator[str]:
        if (self.kind == "not_stated") != (self.answer == NOT_STATED):
            yield f"the answer of a not_stated question, and of no other, is {NOT_STATED!r}"
        if self.kind == "words" and not _stands_in(self.answer, self.passage):
            yield "the answer does not stand in the passage"


class RewriteGold(_OfOneChunk):
    """A refused question, advice, and the question that it leads to; ``kind`` is the reason of the refusal."""

    step: Literal["rewrite"]
    topic: str
    before: str
    fact: Text
    answer: Text
    question: Text
    feedback: Text
    better_question: Question
    kind: Literal["context_reference", "vague", "malformed", "conjoined"]

    def _faults(self) -> Iterator[str]:
        yield from _not_within(self.answer, self.fact)
        yield from _unchanged(self.question, self.better_question)
        if not self.feedback.endswith(".") or "?" in self.feedback:
            yield "feedback is a sentence that ends with a full stop"


class ConditionalGold(_OfOneChunk):
    """A question, and the same under a condition that changes or narrows its answer to ``answer``."""

    step: Literal["conditional"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=1)
    question: Question
    condition: Text
    answer: Text
    conditional_question: Question

    def _faults(self) -> Iterator[str]:
        yield from _unchanged(self.question, self.conditional_question)
        yield from _given_away(self.answer, self.conditional_question)
        yield from _not_within(self.answer, " ".join(self.facts))


class ReasoningGold(_OfOneChunk):
    """A question about the second fact that needs the first one too; a ``derived`` answer stands in neither."""

    step: Literal["reasoning"]
    topic: str
    facts: tuple[Text, Text]
    name: Text
    question: Question
    answer: Text
    derived: bool
    reasoning_question: Question
    kind: Literal["bridge", "compare", "sum", "order", "consequence"]

    def _faults(self) -> Iterator[str]:
        yield from _unchanged(self.question, self.reasoning_question)
        if self.kind != "compare":
            yield from _given_away(self.answer, self.reasoning_question)
        if not self.derived:
            yield from _not_within(self.answer, self.facts[1])


class CompressGold(_OfOneChunk):
    """A long question and a short one that asks the same."""

    step: Literal["compress"]
    question: Question
    short_question: Question

    def _faults(self) -> Iterator[str]:
        if 4 * len(self.short_question) > 3 * len(self.question):
            yield "the short question is hardly shorter"


class AskGold(_OfOneChunk):
    """A question that was asked freely about a passage, with its answer and the words that this rests on.

    ``answers`` says whether the answer is short or in whole sentences.
    """

    step: Literal["ask"]
    topic: str
    before: str = ""
    passage: Text
    question: Question
    answer: Text
    evidence: Text
    answers: Literal["short", "open"]
    kind: Literal[
        "fact", "definition", "why", "how", "comparison", "list", "consequence", "purpose", "condition",
    ]  # fmt: skip

    def _faults(self) -> Iterator[str]:
        if self.evidence not in self.passage:
            yield "the evidence does not stand in the passage"
        if self.kind != "comparison":
            yield from _given_away(self.answer, self.question)


class KeyphrasesGold(_OfOneChunk):
    """Three to five phrases of a passage that are answers to good questions, the best first."""

    step: Literal["keyphrases"]
    topic: str
    passage: Text
    keyphrases: tuple[Text, ...] = Field(min_length=3, max_length=5)

    def _faults(self) -> Iterator[str]:
        for place, phrase in enumerate(self.keyphrases):
            if not _stands_in(phrase, self.passage):
                yield f"no phrase of the passage: {phrase}"
            if any(phrase in other for other in self.keyphrases[:place] + self.keyphrases[place + 1 :]):
                yield f"a phrase that stands in another one: {phrase}"


class SplitGold(_OfSeveralChunks):
    """A question that asks several things, and one question for each of them."""

    step: Literal["split"]
    question: Question
    questions: tuple[Question, ...] = Field(min_length=2)

    def _faults(self) -> Iterator[str]:
        return (fault for part in self.questions for fault in _unchanged(self.question, part))


class MultiGold(_OfSeveralChunks):
    """A question that needs all of its facts, one of each chunk; ``gives`` says what each contributes."""

    step: Literal["multi_context"]
    topic: str
    facts: tuple[Text, ...] = Field(min_length=2, max_length=3)
    gives: tuple[Text, ...]
    compare: str = ""
    answer: Text
    question: Question
    kind: Literal["bridge", "comparison"]

    def _faults(self) -> Iterator[str]:
        if not len(self.facts) == len(self.gives) == len(set(self.chunks)) == len(self.chunks):
            yield "facts, gives and chunks are one of each for every chunk"
        if (self.kind == "comparison") != bool(self.compare):
            yield "a comparison says how it compares, a bridge does not"
        if self.kind == "bridge":
            yield from _given_away(self.answer, self.question)


def _stands_in(words: str, passage: str) -> bool:
    """Say whether a passage holds the words as they are, line breaks aside."""
    return words in " ".join(passage.split())


def _not_within(answer: str, fact: str) -> Iterator[str]:
    if answer not in fact:
        yield "the answer does not stand in the fact"
    elif answer == fact:
        yield "the answer is the whole fact"


def _given_away(answer: str, question: str) -> Iterator[str]:
    # A number of up to three characters may stand in its question by chance.
    if len(answer) > 3 and answer.casefold() in question.casefold():
        yield f"the question holds its answer: {answer}"


def _unchanged(question: str, written: str) -> Iterator[str]:
    if question.casefold() == written.casefold():
        yield f"nothing was changed: {written}"
