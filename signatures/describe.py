"""Step ``describe``: a phrase that can replace a name."""

import dspy


class DescribeName(dspy.Signature):
    """Write a phrase that stands for the name, made of what the fact says of it. Do not write the name."""

    fact: str = dspy.InputField(desc="a sentence about the named thing")
    name: str = dspy.InputField(desc="the name")
    phrase: str = dspy.OutputField(desc="a phrase such as: the river that flows through Ebbing")
