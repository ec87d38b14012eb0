"""Step ``fits``: do a question and its answer fit a profile?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Fits = Noul[
    (True, "Question and answer are as every line of the profile says."),
    (False, "They miss at least one line of the profile."),
]


class JudgeFit(dspy.Signature):
    """Decide whether this question with its answer fits the profile that it was written for."""

    profile: str = dspy.InputField(desc="the profile, a line for each dimension")
    passages: str = dspy.InputField(desc="the passages that the answer rests on, each under its number")
    question: str = dspy.InputField(desc="the question, with its options if it has any")
    answer: str = dspy.InputField(desc="its answer")
    fits: Annotated[bool, Fits] = dspy.OutputField(desc="Do question and answer fit every line of the profile?")
