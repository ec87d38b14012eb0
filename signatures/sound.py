"""Step ``sound``: are a question and its answer right for the fact that they were written from?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Sound = Noul[
    (True, "Clear to a stranger, and answered right and whole."),
    (False, "Not so."),
]


class WeighPair(dspy.Signature):
    """Decide whether question and answer are sound."""

    topic: str = dspy.InputField(desc="what the fact is about")
    before: str = dspy.InputField(desc="what the passage says just before, if that is needed", default="")
    fact: str = dspy.InputField(desc="the sentence that they were written from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="its answer, words of the fact")
    sound: Annotated[bool, Sound] = dspy.OutputField(desc="Are they sound?")
