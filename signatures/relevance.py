"""Step ``relevance``: does a passage that a search found help with a question?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Relevant = Noul[
    (True, "It states something that belongs in an answer to the question, be it only a part of it."),
    (False, "It speaks of other things, or of the same subject without anything that the question asks for."),
]


class JudgeRelevance(dspy.Signature):
    """Decide whether this passage helps to answer this question."""

    question: str = dspy.InputField(desc="the question, and what whoever asks wants to find out")
    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="a passage that a search for the question found")
    relevant: Annotated[bool, Relevant] = dspy.OutputField(desc="Does the passage help to answer the question?")
