"""Step ``reword``: the same question in another style."""

import dspy


class RewordQuestion(dspy.Signature):
    """Word the question in the given style. It still asks for exactly the same thing: it keeps every name, number and
    condition, adds no fact and does not give its answer. Examples show how to write, never what to ask about.
    """

    topic: str = dspy.InputField(desc="what the question is about")
    question: str = dspy.InputField(desc="the question to reword")
    style: str = dspy.InputField(desc="how to write it")
    examples: list[str] = dspy.InputField(desc="questions in that style, about other things", default=[])
    wording: str = dspy.OutputField(desc="the question in the given style, in its own language")
