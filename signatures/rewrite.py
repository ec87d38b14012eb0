"""What is asked of a model that changes a question."""

import dspy


class ReviseQuestion(dspy.Signature):
    """Change the question as the change says, and nothing else about it.

    What the change does not concern stays: every name, number and condition, and what is asked for. The new question
    does not contain its answer and does not speak of a passage. Unless the change wants it otherwise, it can be
    understood alone. Examples show how to write, never what to ask about.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage that answers the question, if it is needed", default="")
    question: str = dspy.InputField(desc="the question to change")
    answer: str = dspy.InputField(desc="its answer", default="")
    change: str = dspy.InputField(desc="what to change")
    examples: list[str] = dspy.InputField(desc="questions in the wanted style, about other things", default=[])
    new_question: str = dspy.OutputField(desc="the changed question, in the language of the question")
    new_answer: str = dspy.OutputField(desc="its answer: the same, unless the change concerns it")
