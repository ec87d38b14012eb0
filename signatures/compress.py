"""Step ``compress``: a question in fewer words."""

import dspy


class CompressQuestion(dspy.Signature):
    """Say the question in fewer words, as a person would ask it, and keep every name, number and condition
    that it needs.
    """

    question: str = dspy.InputField(desc="the question to shorten")
    short_question: str = dspy.OutputField(desc="the shorter question")
