"""What is asked on the way to a question for a profile: clues, the passages that one needs,
profiles that they suit.
"""

import dspy
from pydantic import BaseModel, ConfigDict


class Clue(BaseModel):
    """A possible question with words that a text which answers it may have."""

    model_config = ConfigDict(frozen=True)

    clue: str = ""
    example: str = ""
    description: str = ""


class WriteClues(dspy.Signature):
    """Write clues: questions that somebody may have about what the passage tells, and that a search
    of all documents is to find passages for.

    A clue is one question in plain words. It names its subject in full, so that it can be
    understood without the passage, and is worth an answer: how things hang together, what follows,
    what applies when, how much or when. The example is an invented sentence, of the kind that a
    document would hold if it answered the clue; it may be wrong. The description says in one short
    sentence what whoever asks wants to find out. No two clues are after the same thing.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage that the clues start from")
    count: int = dspy.InputField(desc="how many clues")
    clues: list[Clue] = dspy.OutputField(desc="the clues, in the language of the passage")


class DistilPassages(dspy.Signature):
    """Choose the passages that an answer to the question needs, all of them read together.

    Take as few as give the full answer: leave out a passage that only repeats another one, or that
    has nothing of what is asked. A passage that says what another one only names is needed. As
    missing, write in a few words which part of the answer no passage gives; write "nothing" if they
    give all of it.
    """

    question: str = dspy.InputField(desc="the question, and what whoever asks wants to find out")
    passages: str = dspy.InputField(
        desc="the passages, each under its number with title and headings"
    )
    needed: list[int] = dspy.OutputField(desc="the numbers of the needed passages")
    missing: str = dspy.OutputField(desc="what the passages do not say, or: nothing")


class SuggestProfiles(dspy.Signature):
    """Suggest profiles of questions that these passages answer well.

    A profile takes one value of each dimension, by its name. The values must go together, and the
    passages must hold what such a question needs: a value that asks for several passages, a
    comparison or a conclusion only where the passages give one. The profiles differ from each other
    in as many dimensions as fit. Write each profile in a line of its own, in the given form, and
    leave no dimension out.
    """

    dimensions: str = dspy.InputField(desc="the dimensions of a profile with their values")
    question: str = dspy.InputField(desc="what the passages were chosen for")
    passages: str = dspy.InputField(
        desc="the passages, each under its number with title and headings"
    )
    count: int = dspy.InputField(desc="how many profiles")
    form: str = dspy.InputField(desc="the form of a line, with a value in place of each …")
    profiles: str = dspy.OutputField(desc="one profile in each line")
