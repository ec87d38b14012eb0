"""What is asked of a model that answers."""

import dspy


class AnswerQuestion(dspy.Signature):
    """Answer the question with the few words of the passage that answer it. Write "not stated" if the passage does not
    say."""

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage to answer from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.OutputField(desc="a few words copied from the passage")
