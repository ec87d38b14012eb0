"""The table row of a step that can be compiled, and its types."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

import dspy

from optimizers.gold import Decided, GoldRow
from optimizers.labels import ChunkLabel, Label, QuestionLabel, Split
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


class Source(NamedTuple):
    """The data that examples are built from.

    Attributes:
        chunks, questions: labels of all splits.
        languages: the languages of runs, with syntax.
        foci: returns the foci of a passage and its topic.
        gold: gold rows of all splits and steps.
        texts: the text of each known chunk by its id.
    """

    chunks: Sequence[ChunkLabel]
    questions: Sequence[QuestionLabel]
    languages: Languages
    foci: Callable[[str, str], list[Focus]]
    gold: Sequence[GoldRow]
    texts: Mapping[str, str]

    def gold_of(self, kind: type[_Gold]) -> list[_Gold]:
        """Return the gold rows of one kind, in order."""
        return [row for row in self.gold if isinstance(row, kind)]


class Scored(NamedTuple):
    """The score of an output with feedback, which is empty for a perfect output."""

    value: float
    feedback: str


class Judges(NamedTuple):
    """The functions that metrics use to check an output.

    Attributes:
        judge: the decision on a passage and a question.
        rank: the rank of the passage when all passages are searched for the question; None if it is not found.
        answer: the compiled model's answer, given topic, passage and question.
        languages: the languages of runs, with syntax.
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
    """A hand-written instruction, and a pattern of the feedback that it addresses."""

    fault: str
    text: str


@dataclass(frozen=True)
class Fitting:
    """The settings for fitting the heads of a step that decides.

    Attributes:
        labels: the kind of labels or gold rows to fit to.
        files: the files in `data/` that contain them.
        faults: the reasons that make each output other than the overall one false; rows with other bad reasons are not
            used for that output.
        options: the options of the fit.
        overall: the output that decides.
        target_precision: the default share of accepted rows that must be good, as high as the shipped labels support
            with a useful recall.
    """

    labels: Decided
    files: tuple[str, ...]
    faults: Mapping[str, tuple[str, ...]]
    options: FitOptions
    target_precision: float
    overall: str = OVERALL

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the fitted outputs."""
        return (self.overall, *self.faults)


def kind_of(demo: Mapping[str, Any]) -> str:
    """Return the kind of a demo: the first word of its question, and whether the passage contains the answer."""
    question = str(demo.get("better_question") or demo.get("question") or "").split()
    stated = "passage" not in demo or "answer" not in demo or has_words(str(demo["passage"]), str(demo["answer"]))
    return f"{question[0].casefold() if question else ''} {stated}"


@dataclass(frozen=True)
class Finetuning:
    """The settings for training weights for a step.

    Attributes:
        files: the names of the gold files.
        rows: selects and converts their rows; each has the outputs of the step as attributes.
        instructions: the short instructions of the trained step.
        inputs: returns the inputs of a row, randomly varied, or None to exclude it.
    """

    files: tuple[str, ...]
    rows: Callable[[Sequence[Label | GoldRow]], Sequence[GoldRow]]
    instructions: str
    inputs: Callable[[Any, Languages, random.Random], dict[str, str] | None]

    @classmethod
    def on_gold(
        cls, kind: type[GoldRow], file: str, instructions: str, inputs: Callable[[Any], dict[str, str]]
    ) -> Self:
        """Train on all gold rows of one kind in a file, with inputs that depend on the row alone."""
        return cls(
            (file,),
            lambda rows: [row for row in rows if isinstance(row, kind)],
            instructions,
            lambda row, *_: inputs(row),
        )


@dataclass(frozen=True)
class Compiling:
    """A step that can be compiled.

    Attributes:
        step: the step.
        examples: builds from labels and gold rows the demos, which have outputs, and the inputs to evaluate on.
        metric: scores an output from 0 to 1, with feedback that names the broken rule and the words that broke it.
        instructions: the pool of instructions, each against one kind of problem.
        deviation: the standard deviation of the paired differences of two candidates on dev rows, as measured in
            docs/experiments/; it gives the minimum detectable gain before a compile.
        asks_model: whether the metric calls the model again for each accepted question.
        finetuning: the settings for training weights, if the step can be fine-tuned.
        fitting: the settings for fitting heads, if the step decides.
        gold: the type of its gold rows.
    """

    step: Step
    examples: Callable[[Source], tuple[Rows, Rows]]
    metric: Metric
    instructions: tuple[Instruction, ...]
    deviation: float
    asks_model: bool = False
    finetuning: Finetuning | None = None
    fitting: Fitting | None = None
    gold: type[GoldRow] | None = None

    @property
    def name(self) -> str:
        """Return the name of the step."""
        return self.step.name

    @property
    def calls_per_example(self) -> int:
        """Return the maximum number of calls for one example."""
        return 2 if self.asks_model else 1
