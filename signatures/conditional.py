"""Step ``conditional``: the same question under a condition that the chunk states."""

import dspy


class ConditionQuestion(dspy.Signature):
    """Rewrite the question so that it opens with the condition. The answer stays the same."""

    topic: str = dspy.InputField(desc="what the question is about")
    question: str = dspy.InputField(desc="the question to condition")
    condition: str = dspy.InputField(desc="a condition, circumstance or time that the passage states")
    conditional_question: str = dspy.OutputField(desc="the condition, a comma, and the question")
