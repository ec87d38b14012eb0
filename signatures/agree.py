"""Step ``agree``: do two answers to a question say the same?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Agree = Noul[
    (True, "Both give the same answer; one may say more than the other as long as nothing in them differs."),
    (False, "They differ in a fact, or one lacks what the question asks for."),
]


class CompareAnswers(dspy.Signature):
    """Decide whether two answers to a question agree."""

    question: str = dspy.InputField(desc="the question")
    first: str = dspy.InputField(desc="the answer that was meant")
    second: str = dspy.InputField(desc="the answer that a reader of the passage gave")
    agree: Annotated[bool, Agree] = dspy.OutputField(desc="Do both answers say the same?")
