"""Step ``distil``: which passages a question needs together, and what they leave open."""

import dspy


class DistilPassages(dspy.Signature):
    """Choose the passages that an answer to the question needs, all of them read together.

    Take as few as give the full answer: leave out a passage that only repeats another one, or that has nothing of what
    is asked. A passage that says what another one only names is needed. Write the numbers of the passages, or "none".
    As missing, write in a few words which part of the answer no passage gives; write "nothing" if they give all of it.
    """

    question: str = dspy.InputField(desc="the question, and what whoever asks wants to find out")
    passages: str = dspy.InputField(desc="the passages, each under its number with title and headings")
    needed: str = dspy.OutputField(desc="the numbers of the needed passages, such as: 1, 3")
    missing: str = dspy.OutputField(desc="what the passages do not say, or: nothing")
