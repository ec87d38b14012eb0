"""Heads: classifiers over named evidence, fitted to labels and stored as numbers."""

from optimizers.heads.critic import FAULTS, CriticHeads, outputs_of
from optimizers.heads.evidence import Encoder, chunk_evidence, question_evidence, texts_to_embed
from optimizers.heads.fit import Recipe, Rows, fit_head, held_out_probabilities, probabilities
from optimizers.heads.linear import LinearHead

__all__ = [
    "FAULTS",
    "CriticHeads",
    "Encoder",
    "LinearHead",
    "Recipe",
    "Rows",
    "chunk_evidence",
    "fit_head",
    "held_out_probabilities",
    "outputs_of",
    "probabilities",
    "question_evidence",
    "texts_to_embed",
]
