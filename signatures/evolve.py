"""Step ``evolve``: a question changed in one way, with its answer and evidence."""

import dspy


class EvolveQuestion(dspy.Signature):
    """Change the question as the change says. The passage alone must answer the new question.

    The new question asks one thing in plain words, as somebody would who wants to know it; it is no riddle. It names
    its subject in full and does not speak of the passage. Its answer is right, complete and stated in the passage,
    or counted or concluded from nothing but what it states. The evidence is copied from the passage word for word;
    pieces that stand apart are separated by " | ". Write "none" as the question if the passage does not allow the
    change, or only a riddle would come of it.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage that the question is about")
    question: str = dspy.InputField(desc="the question to change")
    answer: str = dspy.InputField(desc="its answer")
    change: str = dspy.InputField(desc="how to change the question")
    answers: str = dspy.InputField(desc="how long the answer is")
    new_question: str = dspy.OutputField(desc="the changed question, in the language of the passage")
    new_answer: str = dspy.OutputField(desc="its answer")
    evidence: str = dspy.OutputField(desc="the words of the passage that the answer rests on")
