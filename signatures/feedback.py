"""Step ``feedback``: what must change in a refused question."""

import dspy


class DiagnoseQuestion(dspy.Signature):
    """Say in one short sentence what must change in the question so that it can be understood and answered
    without seeing the fact.
    """

    topic: str = dspy.InputField(desc="what the fact is about")
    fact: str = dspy.InputField(desc="the sentence that holds the answer")
    question: str = dspy.InputField(desc="the refused question")
    objection: str = dspy.InputField(desc="why it was refused")
    feedback: str = dspy.OutputField(desc="one sentence of advice")
