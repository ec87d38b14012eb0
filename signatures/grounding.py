"""Step ``grounding``: does the passage support the answer to this question?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Grounded = Noul[
    (True, "Every part of the answer is stated in the passage, and it answers the question."),
    (False, "Part of the answer is not in the passage, or it answers something else."),
]


class GroundAnswer(dspy.Signature):
    """Decide whether the passage supports this answer to this question."""

    passage: str = dspy.InputField(desc="the passage")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="the answer to check")
    grounded: Annotated[bool, Grounded] = dspy.OutputField(desc="Does the passage support the answer?")
