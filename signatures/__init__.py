"""What each step asks: ``dspy.Signature`` classes, and nothing else."""

from groundset.signatures.chunk import ExtractKeyphrases, ScoreChunk
from groundset.signatures.judge import CompareTexts, GroundAnswer, JudgeQuestion, WeighPair
from groundset.signatures.question import (
    AnswerQuestion,
    AskFact,
    AskPassage,
    CombinePassages,
    EvolveQuestion,
    ReviseQuestion,
    RewordQuestion,
)

__all__ = [
    "AnswerQuestion",
    "AskFact",
    "AskPassage",
    "CombinePassages",
    "CompareTexts",
    "EvolveQuestion",
    "ExtractKeyphrases",
    "GroundAnswer",
    "JudgeQuestion",
    "ReviseQuestion",
    "RewordQuestion",
    "ScoreChunk",
    "WeighPair",
]
