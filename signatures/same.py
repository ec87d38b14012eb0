"""Step ``same``: do two questions ask the same?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Same = Noul[
    (True, "Both ask for the same thing in the same depth; only the wording differs."),
    (
        False,
        "The second needs something that the first did not: a condition, a further step, a further fact.",
    ),
]


class CompareQuestions(dspy.Signature):
    """Decide whether two questions ask the same thing in the same depth."""

    first: str = dspy.InputField(desc="the seed question")
    second: str = dspy.InputField(desc="the evolved question")
    same: Annotated[bool, Same] = dspy.OutputField(desc="Is the second question no more than the first one reworded?")
