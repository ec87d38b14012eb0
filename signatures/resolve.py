"""Step ``resolve``: does a stand-alone question ask the same as the last message of a conversation?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Resolved = Noul[
    (True, "Whoever reads the conversation takes the last message to ask exactly this question."),
    (False, "It asks for something else, about another thing, or adds or drops a condition."),
]


class CompareWithConversation(dspy.Signature):
    """Decide whether a question asks the same as the last message of a conversation."""

    conversation: str = dspy.InputField(desc="the conversation; its last message is a question that refers back")
    question: str = dspy.InputField(desc="the question in its stand-alone form")
    resolved: Annotated[bool, Resolved] = dspy.OutputField(desc="Does the question ask what the last message asks?")
