"""Step ``profiles``: which profiles of questions some passages suit."""

import dspy


class SuggestProfiles(dspy.Signature):
    """Suggest profiles of questions that these passages answer well.

    A profile takes one value of each dimension, by its name. The values must go together, and the passages must hold
    what such a question needs: a value that asks for several passages, a comparison or a conclusion only where the
    passages give one. The profiles differ from each other in as many dimensions as fit. Write each profile in a line of
    its own, in the given form, and leave no dimension out.
    """

    dimensions: str = dspy.InputField(desc="the dimensions of a profile with their values")
    question: str = dspy.InputField(desc="what the passages were chosen for")
    passages: str = dspy.InputField(desc="the passages, each under its number with title and headings")
    count: str = dspy.InputField(desc="how many profiles")
    form: str = dspy.InputField(desc="the form of a line, with a value in place of each …")
    profiles: str = dspy.OutputField(desc="one profile in each line")
