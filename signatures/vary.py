"""Step ``vary``: other wordings of an answer."""

import dspy


class VaryAnswer(dspy.Signature):
    """Write the answer in other words, each wording on a line of its own: as a whole sentence, shorter, with another
    word for the same thing.

    Every wording gives the same answer to the question. It adds nothing and keeps every name and number as it is.
    """

    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="its answer")
    count: int = dspy.InputField(desc="how many wordings to write")
    wordings: str = dspy.OutputField(desc="one wording in each line, in the language of the answer")
