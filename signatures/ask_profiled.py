"""Step ``ask_profiled``: a question for a profile, with its answer and evidence."""

import dspy


class AskForProfile(dspy.Signature):
    """Write a question that fits every line of the profile and that the passages answer, with its answer.

    The question asks one thing, as the person of the profile would who wants to know it and has not seen the passages.
    It names its subject in full, so that it can be understood alone, does not give its answer away and does not speak
    of passages, documents or profiles. It may ask for something near the clue, if the passages answer that better. The
    answer has the form that the profile wants; it is right, complete and stated in the passages, or concluded from
    nothing but what they state. Only if the profile wants options, write them, separated by " | ": the answer, word for
    word, and wrong ones of the same kind and length, which somebody may take for right but the passages do not
    support; the question itself does not list them. Else write "none" as options. The evidence is copied from the
    passages word for word; pieces that stand apart are separated by " | ". If the passages have nothing that fits the
    profile, write "none" as the question.
    """

    clue: str = dspy.InputField(desc="what the passages were chosen for")
    passages: str = dspy.InputField(desc="the passages, each under its number with title and headings")
    asked_already: list[str] = dspy.InputField(desc="questions not to repeat", default=[])
    profile: str = dspy.InputField(desc="the profile of the question, a line for each dimension")
    question: str = dspy.OutputField(desc="the question, in the language of the passages, without options")
    options: str = dspy.OutputField(desc="the options, or: none")
    answer: str = dspy.OutputField(desc="its answer")
    evidence: str = dspy.OutputField(desc="the words of the passages that the answer rests on")
