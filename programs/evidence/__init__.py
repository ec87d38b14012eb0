"""Surface evidence: named numbers from texts alone, no model involved.

What a number weighs is the critic's business.
"""

from programs.evidence.answer import (
    agreement,
    answer_features,
    answers_agree,
    answers_instead,
    kind_agrees,
)
from programs.evidence.chunk import chunk_features, sentence_features
from programs.evidence.kind import KINDS, kind_of
from programs.evidence.pair import pair_features
from programs.evidence.question import lost_words, question_features
from programs.evidence.shape import grams, shape, words_of

__all__ = [
    "KINDS",
    "agreement",
    "answer_features",
    "answers_agree",
    "answers_instead",
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
