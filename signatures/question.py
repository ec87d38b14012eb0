"""Step ``question``: a seed question about one fact."""

import dspy


class AskQuestion(dspy.Signature):
    """Write one question whose answer is exactly the given answer.

    The question names its subject in full, so that someone who has never seen the fact understands it, and
    does not contain the answer.
    """

    topic: str = dspy.InputField(desc="what the fact is about")
    fact: str = dspy.InputField(desc="one sentence of the passage")
    answer: str = dspy.InputField(desc="words of the fact that the question must lead to")
    opening: str = dspy.InputField(desc="how the question begins, if that is fixed", default="")
    question: str = dspy.OutputField(desc="the question, in the language of the fact")
