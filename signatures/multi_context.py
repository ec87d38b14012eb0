"""Step ``multi_context``: a question that compares several facts."""

import dspy


class ComposeQuestion(dspy.Signature):
    """Write one question that compares what the facts tell. It names each thing and has the given answer."""

    topic: str = dspy.InputField(desc="what each fact is about")
    facts: list[str] = dspy.InputField(desc="one sentence about each thing")
    compare: str = dspy.InputField(desc="how the things are compared")
    answer: str = dspy.InputField(desc="the thing that the question must lead to")
    question: str = dspy.OutputField(desc="one question, in the language of the facts")
