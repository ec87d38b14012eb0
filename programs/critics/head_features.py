"""What the fitted heads of a step look at, in batches, so that all texts are embedded together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from programs.critics.base import Encoder, Inputs
from programs.features import answer_features, chunk_features, pair_features, question_features
from programs.languages.table import Languages

# These look at the title, which a chunk judged alone does not have.
_OF_TITLE = frozenset({"boilerplate_heading", "topic_overlap", "names_topic"})


@dataclass(frozen=True)
class HeadEvidence:
    """What the heads of one step look at.

    Attributes:
        subject: the input that is judged; its vector and its shape are evidence.
        texts: returns the texts whose vectors a decision about inputs needs.
        features: returns the named numbers of each row of inputs.
    """

    subject: str
    texts: Callable[[Inputs, Languages], list[str]]
    features: Callable[[Sequence[Inputs], Encoder, Languages], list[dict[str, float]]]


def _of_chunk(inputs: Inputs, languages: Languages) -> list[str]:
    del languages
    return [inputs["passage"]] if inputs["passage"] else []


def _chunk_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    del encoder
    passages = [inputs["passage"].strip() for inputs in rows]
    found = [chunk_features(passage, "", languages.of(passage)) for passage in passages]
    return [{name: value for name, value in features.items() if name not in _OF_TITLE} for features in found]


def _of_question(inputs: Inputs, languages: Languages) -> list[str]:
    question, passage = inputs["question"], inputs["passage"]
    return [text for text in (question, passage, *languages.of(passage).sentences(passage)) if text]


def _question_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    """Return the features of each question and its passage: of the question, of the words it shares with the
    passage and with its nearest sentence, and how near their meanings are.
    """
    pairs = [(inputs["question"], inputs["passage"]) for inputs in rows]
    passages = {passage: languages.of(passage) for _, passage in pairs}
    split = {passage: language.sentences(passage) or [passage] for passage, language in passages.items()}
    short = list(dict.fromkeys([*(question for question, _ in pairs), *(s for found in split.values() for s in found)]))
    # Long and short texts go apart: a batch costs as if all of it were as long as the longest.
    vectors = {
        text: vector
        for texts in (list(split), short)
        for text, vector in zip(texts, encoder.encode(texts), strict=True)
    }
    found_rows = []
    for question, passage in pairs:
        language, found = passages[passage], split[passage]
        near = sorted((float(vectors[sentence] @ vectors[question]) for sentence in found), reverse=True)
        asked = set(language.content_words(question))
        shared = [len(asked & set(language.content_words(sentence))) / max(1, len(asked)) for sentence in found]
        features = question_features(question, passage, language, languages.of(question))
        features["nearness"] = float(vectors[passage] @ vectors[question])
        features["nearest"] = near[0]
        features["nearest_gap"] = near[0] - near[1] if len(near) > 1 else 0.0
        features["sentence_coverage"] = max(shared)
        features["spread_coverage"] = features["coverage"] - max(shared)
        found_rows.append(features)
    return found_rows


def _of_answer(inputs: Inputs, languages: Languages) -> list[str]:
    del inputs, languages
    return []


def _answer_features(rows: Sequence[Inputs], encoder: Encoder, languages: Languages) -> list[dict[str, float]]:
    del encoder
    return [
        answer_features(inputs["passage"], inputs["question"], inputs["answer"], languages.of(inputs["passage"]))
        for inputs in rows
    ]


def _of_pair(inputs: Inputs, languages: Languages) -> list[str]:
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
    """Embeds nothing, for whoever wants the names of features only."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.zeros((len(texts), 1), dtype=np.float32)

    encode_corpus = encode


@cache
def feature_names(step: str) -> frozenset[str]:
    """Return the names of the features that the heads of a step can weigh; none if it has no heads."""
    evidence, text = HEAD_EVIDENCE.get(step), "Ebbing lies on a river."
    if evidence is None:
        return frozenset()
    inputs = dict.fromkeys(("passage", "question", "answer", "first", "second"), text)
    (features,) = evidence.features([inputs], _NoVectors(), Languages({}))
    return frozenset(features)


HEAD_EVIDENCE: Mapping[str, HeadEvidence] = {
    "chunk": HeadEvidence("passage", _of_chunk, _chunk_features),
    "judge": HeadEvidence("question", _of_question, _question_features),
    "grounding": HeadEvidence("answer", _of_answer, _answer_features),
    "same": HeadEvidence("second", _of_pair, _pair_features),
}
