"""Why chunks, questions and answers are called bad: the words of labels, and of readers of a run."""

from typing import Literal

ChunkReason = Literal["ok", "citation", "metadata", "boilerplate", "not_self_contained", "too_thin"]
QuestionReason = Literal[
    "ok", "context_reference", "vague", "unanswerable", "wrong_premise", "malformed", "conjoined", "gives_away"
]
AnswerLabel = Literal["correct", "incomplete", "unsupported"]
