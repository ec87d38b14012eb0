"""Step ``reasoning``: the kind of a named thing, to replace its name by a description."""

import dspy


class NameKind(dspy.Signature):
    """Say in one or two words what kind of thing the named thing is."""

    topic: str = dspy.InputField(desc="what the fact is about")
    fact: str = dspy.InputField(desc="a sentence about the named thing")
    name: str = dspy.InputField(desc="the named thing")
    kind: str = dspy.OutputField(desc="a common noun such as ferry, engineer, law or company")
