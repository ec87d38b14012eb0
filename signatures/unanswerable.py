"""Step ``unanswerable``: a question on the subject of a passage that the passage does not answer."""

import dspy


class AskUnanswerable(dspy.Signature):
    """Write a question that a user of these documents might ask next, and that the passage does not answer.

    It asks for one definite thing that belongs to the matter of the passage and is left open: a figure, a name, a date,
    a place, a reason, a way of doing something, a case that no rule covers. The passage neither states the answer nor
    allows to conclude it, and what the question takes for granted is stated there. It names its subject in full, so
    that it can be understood alone, does not speak of the passage, asks one thing in plain words and has at most 25.
    Do not ask for opinions, or for what documents of this kind never tell. Write "none" as the question if nothing of
    that sort is left open.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage")
    answered_question: str = dspy.InputField(desc="a question that the passage answers; not to be repeated")
    missing: str = dspy.OutputField(desc="what the passage leaves open, in a few words")
    question: str = dspy.OutputField(desc="the question that asks for it, in the language of the passage")
