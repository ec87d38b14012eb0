"""Step ``follow_up``: the second question of a conversation, with its stand-alone form, answer and evidence."""

import dspy


class AskFollowUp(dspy.Signature):
    """Write the next question of somebody who asked the question and got the answer. The passage alone answers it.

    The follow-up is short and refers back, as people speak: with "it", "they" or "there", or by leaving out what was
    just said. Nobody who has not read the question and the answer can tell what it is about. It asks for something
    else than the first question. The stand-alone question asks for exactly the same and names everything in full, so
    that it can be understood without the conversation and the passage. Its answer is right, complete and stated in the
    passage. The evidence is copied from the passage word for word; pieces that stand apart are separated by " | ".
    Write "none" as the follow-up if the passage tells nothing else.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage that the conversation is about")
    question: str = dspy.InputField(desc="the first question")
    answer: str = dspy.InputField(desc="its answer")
    answers: str = dspy.InputField(desc="how long the new answer is")
    follow_up: str = dspy.OutputField(desc="the follow-up question, in the language of the passage")
    stand_alone_question: str = dspy.OutputField(desc="the same question in its stand-alone form")
    new_answer: str = dspy.OutputField(desc="its answer")
    evidence: str = dspy.OutputField(desc="the words of the passage that the answer rests on")
