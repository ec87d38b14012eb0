"""Step ``keyphrases``: phrases of a passage that can be asked about."""

import dspy


class ExtractKeyphrases(dspy.Signature):
    """List three to five key phrases copied from the passage, separated by semicolons: names, dates, amounts
    and technical terms that someone could ask about.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage to read")
    keyphrases: list[str] = dspy.OutputField(desc="three to five phrases copied word for word")
