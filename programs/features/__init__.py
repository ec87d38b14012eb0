"""Features: named numbers computed from texts, without a model; critics weigh them."""

from programs.features.answer import (
    agreement,
    answer_features,
    answers_agree,
    asks_for_other_part,
    kind_agrees,
)
from programs.features.chunk import chunk_features, sentence_features
from programs.features.kind import KINDS, kind_of
from programs.features.pair import pair_features
from programs.features.question import lost_words, question_features
from programs.features.shape import grams, shape, words_of

__all__ = [
    "KINDS",
    "agreement",
    "answer_features",
    "answers_agree",
    "asks_for_other_part",
    "chunk_features",
    "grams",
    "kind_agrees",
    "kind_of",
    "lost_words",
    "pair_features",
    "question_features",
    "sentence_features",
    "shape",
    "words_of",
]
