"""The reasons for bad chunks, questions and answers, in labels and reviews."""

from typing import Literal

ChunkReason = Literal["ok", "citation", "metadata", "boilerplate", "not_self_contained", "too_thin"]
QuestionReason = Literal[
    "ok", "context_reference", "vague", "unanswerable", "wrong_premise", "malformed", "conjoined", "gives_away"
]
AnswerLabel = Literal["correct", "incomplete", "unsupported"]
