"""Step ``multi_context``: a question that takes several facts to answer."""

import dspy


class ComposeQuestion(dspy.Signature):
    """Write one question that needs all the facts and has the given answer.

    Do not write the shared name: say what the other fact tells of it. If things are compared, name each of them.
    """

    topic: str = dspy.InputField(desc="what each fact is about")
    facts: list[str] = dspy.InputField(desc="one sentence of each passage; the last one holds the answer")
    shared: str = dspy.InputField(desc="the name that the facts share, if one is", default="")
    compare: str = dspy.InputField(desc="how things are compared, if they are", default="")
    answer: str = dspy.InputField(desc="what the question must lead to")
    question: str = dspy.OutputField(desc="one question, in the language of the facts")
