"""What compiling needs of a step: one row each, and the types that the rows speak in."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import dspy

from optimizers.gold_rows import ComparedGold, GoldRow
from optimizers.labels import AnsweredLabel, ChunkLabel, Label, QuestionLabel, Split
from optimizers.logistic import FitOptions
from programs.deciding import OVERALL, Decision
from programs.languages.base import Language
from programs.languages.table import Languages
from programs.steps.base import Step
from programs.text import has_words
from programs.types import Focus

Row = tuple[Split, dspy.Example]
Rows = list[Row]
_Gold = TypeVar("_Gold", bound=GoldRow)
Decided = type[ChunkLabel] | type[QuestionLabel] | type[AnsweredLabel] | type[ComparedGold]


class Source(NamedTuple):
    """What examples are made from.

    Attributes:
        chunks, questions: labelled rows of all splits.
        languages: those of runs, with their syntax.
        foci: the foci of a passage, given its topic.
        gold: rows of all splits and kinds that say what steps should write.
        texts: the text of each known chunk by its id.
    """

    chunks: Sequence[ChunkLabel]
    questions: Sequence[QuestionLabel]
    languages: Languages
    foci: Callable[[str, str], list[Focus]]
    gold: Sequence[GoldRow]
    texts: Mapping[str, str]

    def gold_of(self, kind: type[_Gold]) -> list[_Gold]:
        """Return the gold rows of one kind, in their order."""
        return [row for row in self.gold if isinstance(row, kind)]


class Scored(NamedTuple):
    """The value of an output and what to do better; ``feedback`` is empty for a perfect one."""

    value: float
    feedback: str


class Judges(NamedTuple):
    """Who is asked about an output.

    Attributes:
        judge: decides on a question, given its passage and itself.
        rank: the rank of a passage in a search for the question among all passages; None where it is not found.
        answer: what the model that is compiled for finds, given topic, passage and question.
        languages: those of runs, with their syntax.
    """

    judge: Callable[[str, str], Decision]
    rank: Callable[[str, str], int | None]
    answer: Callable[[str, str, str], str]
    languages: Languages

    def language_of(self, example: dspy.Example) -> Language:
        """Return the language of an example's passage."""
        return self.languages[example.language]


Metric = Callable[[dspy.Example, Any, Judges], Scored]


class Instruction(NamedTuple):
    """An instruction in our own words, and a pattern of the feedback that calls for it."""

    fault: str
    text: str


@dataclass(frozen=True)
class Fitting:
    """What fitting the head of a step that decides needs.

    Attributes:
        labels: the kind of labels or gold rows that it is fitted to.
        files: the files of `data/` that hold them.
        faults: for each output but the overall one, the reasons that make it false; a row with another bad reason says
            nothing about it.
        options: how it is fitted.
        overall: the output that decides.
        target_precision: the share of accepted rows that must be good where no other is asked for: what the shipped
            labels support with a useful share of the good rows left.
    """

    labels: Decided
    files: tuple[str, ...]
    faults: Mapping[str, tuple[str, ...]]
    options: FitOptions
    target_precision: float
    overall: str = OVERALL

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the outputs that are fitted."""
        return (self.overall, *self.faults)


def kind_of(demo: Mapping[str, Any]) -> str:
    """Return the kind of a demo: the word that its question begins with, and whether its passage states its answer."""
    question = str(demo.get("better_question") or demo.get("question") or "").split()
    stated = "passage" not in demo or "answer" not in demo or has_words(str(demo["passage"]), str(demo["answer"]))
    return f"{question[0].casefold() if question else ''} {stated}"


def only(kind: type[GoldRow]) -> Callable[[Sequence[Label | GoldRow]], Sequence[GoldRow]]:
    """Return what keeps the gold rows of one kind."""
    return lambda rows: [row for row in rows if isinstance(row, kind)]


def as_it_stands(shown: Callable[[Any], dict[str, str]]) -> Callable[..., dict[str, str]]:
    """Return the inputs of rows that are shown as they are, whatever language and chance."""
    return lambda row, *_: shown(row)


@dataclass(frozen=True)
class Teaching:
    """What training weights for a step needs of it.

    Attributes:
        files: the gold files that show what to write.
        rows: makes of all their rows those that are learned from; each has the outputs of the step as attributes.
        instructions: what the model is told; short, because the rows say the rest.
        inputs: what the model is shown of a row, None for a row that it should not learn from; chance varies it.
    """

    files: tuple[str, ...]
    rows: Callable[[Sequence[Label | GoldRow]], Sequence[GoldRow]]
    instructions: str
    inputs: Callable[[Any, Languages, random.Random], dict[str, str] | None]


@dataclass(frozen=True)
class Compiling:
    """One row of the table of steps that can be compiled.

    Attributes:
        step: the step.
        examples: makes of labels and gold the rows that have outputs, to be shown, and those to try on, which need
            none.
        metric: what an output is worth, from 0 (useless) to 1, with a sentence that names the rule which was broken
            and the words that broke it.
        instructions: the pool of instructions, each against one kind of fault.
        deviation: the standard deviation of the paired differences of two candidates on dev rows, as it was measured;
            docs/experiments/ says where. It tells beforehand what a number of rows can see.
        asks_model: whether the metric asks the model once more for each question that is any good.
        teaching: what weights are trained with, for a step that can be taught.
        fitting: what its head is fitted with, for a step that decides.
        gold: the type of the gold rows that say what it should write.
    """

    step: Step
    examples: Callable[[Source], tuple[Rows, Rows]]
    metric: Metric
    instructions: tuple[Instruction, ...]
    deviation: float
    asks_model: bool = False
    teaching: Teaching | None = None
    fitting: Fitting | None = None
    gold: type[GoldRow] | None = None

    @property
    def name(self) -> str:
        """Return the name of the step."""
        return self.step.name

    @property
    def calls_for_one(self) -> int:
        """Return how many calls one example takes at most."""
        return 2 if self.asks_model else 1
