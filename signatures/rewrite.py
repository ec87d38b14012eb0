"""Step ``rewrite``: a refused question, improved by feedback."""

import dspy


class RewriteQuestion(dspy.Signature):
    """Rewrite the question as the feedback says.

    It must name its subject in full, have the given answer and not contain it.
    """

    topic: str = dspy.InputField(desc="what the fact is about")
    fact: str = dspy.InputField(desc="the sentence that holds the answer")
    answer: str = dspy.InputField(desc="what the question must lead to")
    question: str = dspy.InputField(desc="the refused question")
    feedback: str = dspy.InputField(desc="what must change")
    better_question: str = dspy.OutputField(desc="the mended question")
