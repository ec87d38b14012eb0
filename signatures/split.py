"""Step ``split``: a question that asks two things becomes two questions."""

import dspy


class SplitQuestion(dspy.Signature):
    """Split the question into questions that each ask one thing and can be understood alone."""

    question: str = dspy.InputField(desc="a question that asks more than one thing")
    questions: list[str] = dspy.OutputField(desc="one question in each line, each naming its subject in full")
