"""Critics alone: chunks and question-passage pairs judged in bulk."""

from collections.abc import Sequence
from typing import Any

import dspy

from programs.deciding import decide
from signatures.chunk import ScoreChunk
from signatures.judge import JudgeQuestion


def judge_chunks(texts: Sequence[str], critic: Any) -> list[tuple[float, bool]]:
    """Return the probability of good and the verdict of each chunk."""
    predict = dspy.Predict(ScoreChunk)
    decisions = (decide(predict, critic, topic="", passage=text) for text in texts)
    return [(decision.probability, decision.good) for decision in decisions]


def judge_questions(pairs: Sequence[tuple[str, str]], critic: Any) -> list[tuple[float, bool]]:
    """Return the probability of good and the verdict of each (question, passage) pair."""
    predict = dspy.Predict(JudgeQuestion)
    decisions = (decide(predict, critic, question=question, passage=passage) for question, passage in pairs)
    return [(decision.probability, decision.good) for decision in decisions]
