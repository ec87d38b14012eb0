"""The features of the fitted heads of each step, computed in batches so that texts are embedded together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from programs.critics.base import Encoder, Inputs
from programs.features import answer_features, chunk_features, pair_features, question_features
from programs.languages.table import Languages

# These need the title, which chunks judged by `groundset judge` do not have.
_TITLE_FEATURES = frozenset({"boilerplate_heading", "topic_overlap", "names_topic"})


@dataclass(frozen=True)
class HeadFeatures:
    """The features of the heads of one step.

    Attributes:
        subject: the judged input; its vector and shape are features, too.
        texts: returns the texts to embed for a row of inputs.
        features: returns the features of each row of inputs.
    """

    subject: str
    texts: Callable[[Inputs, Languages], list[str]]
    features: Callable[[Sequence[Inputs], Encoder, Languages], list[dict[str, float]]]


def _chunk_texts(inputs: Inputs, languages: Languages) -> list[str]:
    del languages
    return [inputs["passage"]] if inputs["passage"] else []


def _chunk_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    del encoder
    passages = [inputs["passage"].strip() for inputs in rows]
    found = [chunk_features(passage, "", languages.of(passage)) for passage in passages]
    return [{name: value for name, value in features.items() if name not in _TITLE_FEATURES} for features in found]


def _question_texts(inputs: Inputs, languages: Languages) -> list[str]:
    question, passage = inputs["question"], inputs["passage"]
    return [text for text in (question, passage, *languages.of(passage).sentences(passage)) if text]


def _question_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    """Return the features of each question: of its words, and of its similarity to the passage and its sentences."""
    pairs = [(inputs["question"], inputs["passage"]) for inputs in rows]
    passages = {passage: languages.of(passage) for _, passage in pairs}
    split = {passage: language.sentences(passage) or [passage] for passage, language in passages.items()}
    short = list(dict.fromkeys([*(question for question, _ in pairs), *(s for found in split.values() for s in found)]))
    # Long and short texts are embedded separately: the longest text of a batch determines its cost.
    vectors = {
        text: vector
        for texts in (list(split), short)
        for text, vector in zip(texts, encoder.encode(texts), strict=True)
    }
    found_rows = []
    for question, passage in pairs:
        language, found = passages[passage], split[passage]
        near = sorted((float(vectors[sentence] @ vectors[question]) for sentence in found), reverse=True)
        words = set(language.content_words(question))
        shared = [len(words & set(language.content_words(sentence))) / max(1, len(words)) for sentence in found]
        features = question_features(question, passage, language, languages.of(question))
        features["nearness"] = float(vectors[passage] @ vectors[question])
        features["nearest"] = near[0]
        features["nearest_gap"] = near[0] - near[1] if len(near) > 1 else 0.0
        features["sentence_coverage"] = max(shared)
        features["spread_coverage"] = features["coverage"] - max(shared)
        found_rows.append(features)
    return found_rows


def _answer_texts(inputs: Inputs, languages: Languages) -> list[str]:
    del inputs, languages
    return []


def _answer_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    del encoder
    return [
        answer_features(inputs["passage"], inputs["question"], inputs["answer"], languages.of(inputs["passage"]))
        for inputs in rows
    ]


def _pair_texts(inputs: Inputs, languages: Languages) -> list[str]:
    del languages
    return [inputs["first"], inputs["second"]]


def _pair_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    pairs = [(inputs["first"], inputs["second"]) for inputs in rows]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
    return [
        pair_features(first, second, float(vectors[first] @ vectors[second]), languages.of(f"{first} {second}"))
        for first, second in pairs
    ]


class _NoVectors:
    """An encoder that returns zeros."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.zeros((len(texts), 1), dtype=np.float32)

    encode_corpus = encode


@cache
def feature_names(step: str) -> frozenset[str]:
    """Return the names of the features of a step's heads; empty if it has no heads."""
    if step not in HEAD_FEATURES:
        return frozenset()
    inputs = dict.fromkeys(("passage", "question", "answer", "first", "second"), "Ebbing lies on a river.")
    (features,) = HEAD_FEATURES[step].features([inputs], _NoVectors(), Languages({}))
    return frozenset(features)


HEAD_FEATURES: Mapping[str, HeadFeatures] = {
    "chunk": HeadFeatures("passage", _chunk_texts, _chunk_features),
    "judge": HeadFeatures("question", _question_texts, _question_features),
    "grounding": HeadFeatures("answer", _answer_texts, _answer_features),
    "same": HeadFeatures("second", _pair_texts, _pair_features),
}
