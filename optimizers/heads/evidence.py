"""The numeric evidence of the fitted heads, in batches, so that all texts are embedded together."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from programs.evidence import chunk_features, question_features, sentences
from programs.language import language_of
from programs.words import content_words

# These look at the title, which a chunk judged alone does not have.
_OF_TITLE = frozenset({"boilerplate_heading", "topic_overlap", "names_topic"})


class Encoder(Protocol):
    """Turns texts into vectors of length one."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one row for each text."""
        ...


def chunk_evidence(passages: Sequence[str]) -> list[dict[str, float]]:
    """Return the features of each passage."""
    return [
        {name: value for name, value in chunk_features(passage, "").items() if name not in _OF_TITLE}
        for passage in passages
    ]


def texts_to_embed(inputs: Mapping[str, str]) -> list[str]:
    """Return the texts whose vectors are evidence for a decision: all inputs, and a question's passage by sentences."""
    passage = inputs.get("passage", "")
    parts = sentences(passage, language_of(passage)) if "question" in inputs else []
    return [text for text in (inputs.get("question"), passage, *parts) if text]


def question_evidence(pairs: Sequence[tuple[str, str]], encoder: Encoder) -> list[dict[str, float]]:
    """Return the features of each (question, passage) pair: of the question, of the words it shares with the
    passage and with its nearest sentence, and how near their meanings are.
    """
    languages = [language_of(passage) for _, passage in pairs]
    split = {
        (passage, language): sentences(passage, language) or [passage]
        for (_, passage), language in zip(pairs, languages, strict=True)
    }
    texts = dict.fromkeys(text for pair in pairs for text in pair)
    texts.update(dict.fromkeys(sentence for found in split.values() for sentence in found))
    vectors = dict(zip(texts, encoder.encode(list(texts)), strict=True))
    rows = []
    for (question, passage), language in zip(pairs, languages, strict=True):
        found = split[passage, language]
        near = sorted((float(vectors[sentence] @ vectors[question]) for sentence in found), reverse=True)
        asked = set(content_words(question, language))
        shared = [len(asked & set(content_words(sentence, language))) / max(1, len(asked)) for sentence in found]
        features = question_features(question, passage)
        features["nearness"] = float(vectors[passage] @ vectors[question])
        features["nearest"] = near[0]
        features["nearest_gap"] = near[0] - near[1] if len(near) > 1 else 0.0
        features["sentence_coverage"] = max(shared)
        features["spread_coverage"] = features["coverage"] - max(shared)
        rows.append(features)
    return rows
