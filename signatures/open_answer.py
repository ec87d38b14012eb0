"""Step ``open_answer``: the ground truth in whole sentences."""

import dspy


class AnswerInFull(dspy.Signature):
    """Answer the question in one to three whole sentences, from the passage alone.

    Say everything that the question asks for and nothing else. Write "not stated" if the passage does not say.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage to answer from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.OutputField(desc="one to three sentences that hold alone")
