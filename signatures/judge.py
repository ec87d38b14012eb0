"""What is asked of a judge: a language model that reads, or a fitted head with the same outputs."""

import dspy


class JudgeQuestion(dspy.Signature):
    """Decide as a support agent who knows these documents whether this passage settles what
    somebody typed, and answer it from the passage.

    People type short or long, clumsily, with mistakes, in several sentences or without a question
    mark, and in other words than the passage: none of that is a fault. What they tell of
    themselves, such as what they did, have or see, need not stand in the passage. Else be strict:
    faults are easily missed, and one is enough for no. Names, places and years in the topic or
    before the passage count as said, the answer must be in the passage.
    Independent: read the question first as an agent who knows title and headings, but not which
    passage is meant. It is no if it points at a passage, text or figure, if a word in it says
    nothing until the passage explains who or what that is, or if so little is said that it may be
    about quite different things in such documents.
    Clear: one thing is wanted, and there is one right answer; a list of things that are asked for
    together is one, and so is a problem that is told for its remedy. It is no if two things are
    asked at once, if several different answers would be right, if it holds its own answer other
    than as one of several to choose from, or if it is one of a quiz, which only somebody who has
    just read the passage would think of: a definition turned round, the reason of a passing remark,
    a missing word, clauses set against each other that nobody weighs.
    Answerable: with this passage only, the agent can give this person the right and whole answer.
    It is no if the passage only speaks of the matter, or if the question supposes something of the
    matter, such as a name, number, date or cause, that the passage does not say or says otherwise.
    """

    about: str = dspy.InputField(desc="what the documents are and who asks", default="")
    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    before: str = dspy.InputField(desc="what stands just before the passage", default="")
    passage: str = dspy.InputField(desc="the passage that must answer the question")
    question: str = dspy.InputField(desc="the question to judge")
    reason: str = dspy.OutputField(
        desc="what is wrong with the question, in at most 30 words, or: no fault"
    )
    answer: str = dspy.OutputField(
        desc="the whole answer in a few words of the passage, or: not stated"
    )
    independent: bool = dspy.OutputField(
        desc="can it be understood by who knows the documents, not the passage?"
    )
    clear: bool = dspy.OutputField(desc="does it ask one clear thing?")
    answerable: bool = dspy.OutputField(desc="does the passage answer it?")
    confidence: int = dspy.OutputField(
        desc=(
            "how likely this passage is what the person needs, from 0 to 100: under 50 with any no,"
            " under 75 where hardly anybody would look it up"
        )
    )


class CompareTexts(dspy.Signature):
    """Decide whether what is claimed of two texts holds. Compare names, numbers, conditions and
    negations; one difference that matters to the claim is enough for no."""

    claim: str = dspy.InputField(desc="what must hold")
    question: str = dspy.InputField(
        desc="the question that both texts are about, if there is one", default=""
    )
    first: str = dspy.InputField(desc="the first text")
    second: str = dspy.InputField(desc="the second text")
    reason: str = dspy.OutputField(
        desc="what speaks for and against the claim, in at most 20 words"
    )
    holds: bool = dspy.OutputField(desc="does the claim hold?")


class GroundAnswer(dspy.Signature):
    """Decide whether the passage supports this answer to this question."""

    passage: str = dspy.InputField(desc="the passage")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="the answer to check")
    grounded: bool = dspy.OutputField(desc="Does the passage support the answer?")


class WeighPair(dspy.Signature):
    """Decide whether question and answer are sound."""

    topic: str = dspy.InputField(desc="what the fact is about")
    before: str = dspy.InputField(
        desc="what the passage says just before, if that is needed", default=""
    )
    fact: str = dspy.InputField(desc="the sentence that they were written from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="its answer, words of the fact")
    sound: bool = dspy.OutputField(desc="Are they sound?")
