"""Step ``combine``: questions that only several passages together answer."""

import dspy

from signatures.ask import WrittenQuestion


class CombinePassages(dspy.Signature):
    """Write questions that need all of the passages: each passage gives something that the others do not say, and
    without it the answer cannot be found.

    Such a question describes a thing by what one passage says of it and asks what another one tells (bridge),
    compares what the passages say of like things (comparison), or asks for something that only follows from all of
    them (general). It asks one thing in plain words, as somebody would who wants to know it and has not seen the
    passages; it is no riddle and no string of clauses. Like things are compared in what matters about them; years
    between two events, or two figures, only where the one bears on the other. It names its subject in full, does
    not give its answer away and adds nothing that the passages do not say. The answer is right, complete and stated
    in the passages, or counted or concluded from nothing but what they state. The evidence is copied word for word,
    a piece of each passage, separated by " | ". Where one of the ways does not fit, leave it out or take another
    one; where none does, because one passage says it all or they have too little to do with each other, write
    "none" as the only question.
    """

    passages: str = dspy.InputField(desc="the passages, each under its number with title and headings")
    asked_already: list[str] = dspy.InputField(desc="questions not to repeat", default=[])
    answers: str = dspy.InputField(desc="how long answers are")
    kinds: list[str] = dspy.InputField(desc="the ways in which passages are combined")
    questions: list[WrittenQuestion] = dspy.OutputField(desc="one for each way, in the language of the passages")
