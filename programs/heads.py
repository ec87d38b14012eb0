"""Heads: classifiers, fitted to labels, that judge chunks, questions and answers in milliseconds.

A head is a logistic regression on features and on the embedding of the judged text.
:class:`HeadJudge` is a ``dspy.Module`` that takes the place of the language model of a step: it has
the same inputs and outputs.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, Protocol, Self

import dspy
import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
    field_serializer,
    model_validator,
)

from groundset.programs.errors import AnswerError, StateError
from groundset.programs.features import (
    answer_features,
    chunk_features,
    grams,
    question_features,
    shape,
)
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.step import RENAMED, Program
from groundset.programs.text import truncate
from groundset.programs.types import check_numbers
from groundset.programs.untrusted import first_fault, small_text
from groundset.programs.words import Language

VECTOR = "embedding"
_MAX_FILE = 8 << 20  # bytes; the largest shipped file has 0.3 MB
_UNSURE = 0.5  # the threshold of outputs that only say why
SMALLEST_DEVIATION = 1e-6  # they are rounded to six digits
_MAX_LOG_ODDS = 30.0

Share = Annotated[float, Field(ge=0, le=1)]
Deviation = Annotated[FiniteFloat, Field(ge=SMALLEST_DEVIATION)]
Vectors = npt.NDArray[np.float32]
Features = dict[str, float]
Inputs = Mapping[str, str]


class Encoder(Protocol):
    """Turns texts into vectors of length one; ``sha256`` is the hash of its weights."""

    sha256: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""


class HeadStep(NamedTuple):
    """What the heads of a step decide, and by which features of each row of inputs."""

    subject: str  # the judged input; its embedding and its shape are features, too
    # The first one is the verdict, the others, which may be missing, say why.
    outputs: tuple[str, ...]
    features: Callable[[Sequence[Inputs], Encoder], list[Features]]


def _of(text: str) -> Language:
    return LANGUAGES[language_of(text)]


def _chunk_rows(rows: Sequence[Inputs], _: Encoder) -> list[Features]:
    return [
        chunk_features(passage, _of(passage))
        for passage in (row["passage"].strip() for row in rows)
    ]


def _question_rows(rows: Sequence[Inputs], encoder: Encoder) -> list[Features]:
    """Return the features of each question: of its words, and of its nearness to the passage and
    its sentences.
    """
    languages = {row["passage"]: _of(row["passage"]) for row in rows}
    split = {
        passage: language.sentences(passage) or [passage] for passage, language in languages.items()
    }
    short = dict.fromkeys(
        [*(row["question"] for row in rows), *(s for found in split.values() for s in found)]
    )
    # Long and short texts are embedded apart: the longest text of a batch determines its cost.
    vectors = {
        text: vector
        for texts in (list(split), list(short))
        for text, vector in zip(texts, encoder.encode(texts), strict=True)
    }
    found_rows = []
    for row in rows:
        question, passage = row["question"], row["passage"]
        language, found = languages[passage], split[passage]
        near = sorted(
            (float(vectors[sentence] @ vectors[question]) for sentence in found), reverse=True
        )
        words = set(language.content_words(question))
        shared = max(
            len(words & set(language.content_words(sentence))) / max(1, len(words))
            for sentence in found
        )
        features = question_features(question, passage, language, _of(question))
        features["nearness"] = float(vectors[passage] @ vectors[question])
        features["nearest"] = near[0]
        features["nearest_gap"] = near[0] - near[1] if len(near) > 1 else 0.0
        features["sentence_coverage"] = shared
        features["spread_coverage"] = features["coverage"] - shared
        found_rows.append(features)
    return found_rows


def _answer_rows(rows: Sequence[Inputs], _: Encoder) -> list[Features]:
    return [
        answer_features(row["passage"], row["question"], row["answer"], _of(row["passage"]))
        for row in rows
    ]


HEAD_STEPS: Mapping[str, HeadStep] = {
    "score": HeadStep("passage", ("fit", "content", "self_contained"), _chunk_rows),
    "judge": HeadStep("question", ("fit", "independent", "clear", "answerable"), _question_rows),
    "grounding": HeadStep("answer", ("grounded",), _answer_rows),
}


class LinearHead(BaseModel):
    """A logistic regression."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Of each feature, with its mean and standard deviation.
    weights: dict[str, tuple[FiniteFloat, FiniteFloat, Deviation]]
    bias: FiniteFloat  # the log-odds if all features have their mean
    # Of the text's vector; their product is a feature. Empty if it is not used.
    embedding: tuple[FiniteFloat, ...] = ()
    vocabulary: frozenset[str] = frozenset()  # the words that shapes keep
    grams: dict[str, FiniteFloat] = {}  # of each n-gram of the text's shape

    @field_serializer("vocabulary")
    def _in_order(self, vocabulary: frozenset[str]) -> list[str]:
        return sorted(vocabulary)

    def probability(
        self, features: Mapping[str, float], *, vector: Vectors | None = None, text: str = ""
    ) -> float:
        """Return the probability of yes, for a text with its features and, if the head uses it, its
        embedding.

        Raises:
            AnswerError: a feature is NaN.
        """
        known = dict(features)
        if self.embedding:
            known[VECTOR] = float(np.dot(np.asarray(self.embedding, dtype=float), vector))  # type: ignore[arg-type]
        odds = self.bias
        for name, (weight, mean, deviation) in self.weights.items():
            odds += weight * (known[name] - mean) / deviation
        if self.grams:
            odds += sum(self.grams.get(gram, 0.0) for gram in grams(shape(text, self.vocabulary)))
        if math.isnan(odds):
            raise AnswerError(
                "the judge cannot decide, its evidence is not a number (NaN); check the weights of"
                " the --embedder and of its state (--compiled)"
            )
        return 1 / (1 + math.exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, odds))))


class StepHeads(BaseModel):
    """The fitted heads of a step by its outputs, as a file holds them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: Annotated[str, BeforeValidator(lambda name: RENAMED.get(str(name), name))]
    # SHA-256 of the weights that they were fitted with.
    embedder: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    threshold: Share  # rows with at least this probability are accepted
    heads: dict[str, LinearHead]
    record: dict[
        str, JsonValue
    ] = {}  # where they come from: labels and their hashes, rows, seed, measures

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.step not in HEAD_STEPS:
            raise ValueError(f"no heads are fitted for the step {self.step!r}")
        outputs = HEAD_STEPS[self.step].outputs
        if unknown := sorted(self.heads.keys() - set(outputs)):
            raise ValueError(f"the step {self.step} has no output {unknown[0]!r}")
        if outputs[0] not in self.heads:
            raise ValueError(f"it has no head of {outputs[0]!r}")
        known = HEAD_STEPS[self.step].features([_EXAMPLE], _NO_VECTORS)[0].keys()
        for name, head in self.heads.items():
            if unknown := sorted(head.weights.keys() - known - {VECTOR}):
                raise ValueError(f"{name}: there is no feature {unknown[0]!r}")
            if bool(head.embedding) != (VECTOR in head.weights):
                raise ValueError(
                    f"{name}: weights of a vector need the feature {VECTOR!r}, and vice versa"
                )
        check_numbers(self.record)
        return self

    def probabilities(self, rows: Sequence[Inputs], encoder: Encoder) -> list[Features]:
        """Return the probability of each output for each row of inputs."""
        if not rows:
            return []
        step = HEAD_STEPS[self.step]
        texts = [row[step.subject] for row in rows]
        is_embedded = any(head.embedding for head in self.heads.values())
        vectors: Any = encoder.encode(texts) if is_embedded else [None] * len(texts)
        return [
            {
                name: head.probability(features, vector=vector, text=text)
                for name, head in self.heads.items()
            }
            for features, vector, text in zip(
                step.features(rows, encoder), vectors, texts, strict=True
            )
        ]


_EXAMPLE = dict.fromkeys(("passage", "question", "answer"), "Ebbing lies on a river.")
_NO_VECTORS: Any = SimpleNamespace(encode=lambda texts: np.zeros((len(texts), 1), dtype=np.float32))


def load_heads(file: Path) -> StepHeads:
    """Return the heads in a file.

    Raises:
        StateError: it cannot be read, or is not valid; the message names the file and why.
    """
    try:
        return StepHeads.model_validate_json(small_text(file, _MAX_FILE, StateError), strict=True)
    except ValidationError as error:
        raise StateError(
            f"{file}: not valid heads ({first_fault(error)}); fit them again"
        ) from error


class HeadJudge(Program):
    """Judges with fitted heads; called with the inputs of the step as keywords, others are ignored.

    The prediction has the outputs of the step: for each head yes or no, ``reason`` and
    ``confidence`` (0 to 100), and beside them ``fit`` (the verdict) and ``probability``.
    """

    def __init__(self, step: str, heads: StepHeads, encoder: Encoder) -> None:
        """Build the judge of a step.

        Raises:
            StateError: the heads are of another step, or were fitted with another embedder.
        """
        super().__init__()
        if heads.step != step:
            raise StateError(f"the heads of {heads.step} cannot judge the step {step}")
        if encoder.sha256 != heads.embedder:
            raise StateError(
                f"the heads of {step} were fitted with another --embedder; use that one, let a"
                f" language model judge, or run `groundset compile {step} --optimizer heads` with"
                " this one"
            )
        self.name, self.heads, self.encoder = step, heads, encoder

    def __deepcopy__(self, memo: object) -> "HeadJudge":
        """Return the judge itself, which never changes: optimizers copy programs, and the encoder
        is large.
        """
        return self

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Judge one row of inputs; a trace of MLflow shows that a head did."""
        traced = getattr(sys.modules.get("mlflow"), "get_current_active_span", lambda: None)
        span = traced()
        if span and span.name == "HeadJudge.forward":
            span.set_span_type("HEAD")
            span.set_attribute("step", self.name)
        return self.batch([inputs])[0]

    def batch(self, rows: Sequence[Mapping[str, Any]]) -> list[dspy.Prediction]:
        """Judge rows of inputs by name; texts are embedded together."""
        texts = [
            truncate({name: text for name, text in row.items() if name in _EXAMPLE}) for row in rows
        ]
        return [self._prediction(row) for row in self.heads.probabilities(texts, self.encoder)]

    def _prediction(self, found: Mapping[str, float]) -> dspy.Prediction:
        step = HEAD_STEPS[self.name]
        verdict, *parts = step.outputs
        probability = found[verdict]
        fit = probability >= self.heads.threshold
        weakest = min(
            [name for name in parts if name in found] or [verdict], key=lambda name: found[name]
        )
        values: dict[str, Any] = {name: found.get(name, 1.0) >= _UNSURE for name in parts}
        values |= {"answer": ""} if self.name == "judge" else {}
        return dspy.Prediction(
            **values,
            **{verdict: fit, "fit": fit},
            reason="" if fit else f"not {weakest.replace('_', '-')}",
            confidence=round(100 * probability),
            probability=probability,
        )
