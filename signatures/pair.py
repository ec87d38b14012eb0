"""Step ``pair``: a question about one fact, together with its answer."""

import dspy


class AskPair(dspy.Signature):
    """Ask one question about the fact and give its answer, which is words of the fact.

    The question names its subject in full, so that someone who has never seen the fact understands it.
    """

    topic: str = dspy.InputField(desc="what the fact is about")
    before: str = dspy.InputField(desc="what the passage says just before, if that is needed", default="")
    fact: str = dspy.InputField(desc="one sentence of the passage")
    kind: str = dspy.InputField(desc="what kind of thing is asked, if that is fixed", default="")
    answer: str = dspy.OutputField(desc="words copied from the fact")
    question: str = dspy.OutputField(desc="the question, in the language of the fact")
