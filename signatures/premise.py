"""Step ``premise``: does a passage state what a question takes for granted?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Holds = Noul[
    (True, "The passage states, or plainly implies, everything that the question takes for granted."),
    (False, "The question assumes a thing, an event or a property that the passage contradicts or does not have."),
]


class CheckPremise(dspy.Signature):
    """Decide whether a passage bears out what a question takes for granted. Whether it answers the question is of no
    account."""

    passage: str = dspy.InputField(desc="the passage that the question is about")
    question: str = dspy.InputField(desc="the question")
    holds: Annotated[bool, Holds] = dspy.OutputField(
        desc="Is everything that the question takes for granted in the passage?"
    )
