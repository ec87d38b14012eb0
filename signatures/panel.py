"""Step ``panel``: would one of three critics keep this question with its answer?"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Approved = Noul[
    (True, "Seen from the viewpoint, question and answer have no fault."),
    (False, "Seen from the viewpoint, the question or the answer has a fault."),
]


class ReviewDraft(dspy.Signature):
    """Decide, as one of three critics, whether an evaluation set should contain this question with this answer.

    Decide from the viewpoint alone; the other critics have the other viewpoints. If their opinions are given, weigh
    their reasons: change your decision where they show a fault, or where they show that there is none.
    """

    passage: str = dspy.InputField(desc="the passage that question and answer were written from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="its answer")
    viewpoint: str = dspy.InputField(desc="what you look at")
    opinions: str = dspy.InputField(desc="what the other critics decided, and why", default="")
    approved: Annotated[bool, Approved] = dspy.OutputField(desc="Do you approve the question with its answer?")
