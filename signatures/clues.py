"""Step ``clues``: what users may want to know, as queries for a search."""

import dspy
from pydantic import BaseModel, ConfigDict


class Clue(BaseModel):
    """A possible question with words that a text which answers it may have."""

    model_config = ConfigDict(frozen=True)

    clue: str = ""
    example: str = ""
    description: str = ""


class WriteClues(dspy.Signature):
    """Write clues: questions that somebody may have about what the passage tells, and that a search of all documents is
    to find passages for.

    A clue is one question in plain words. It names its subject in full, so that it can be understood without the
    passage, and is worth an answer: how things hang together, what follows, what applies when, how much or when. The
    example is an invented sentence, of the kind that a document would hold if it answered the clue; it may be wrong.
    The description says in one short sentence what whoever asks wants to find out. No two clues are after the same
    thing.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage that the clues start from")
    count: str = dspy.InputField(desc="how many clues")
    clues: list[Clue] = dspy.OutputField(desc="the clues, in the language of the passage")
