"""Step ``ask``: questions about a passage, each with its answer and evidence."""

import dspy
from pydantic import BaseModel, ConfigDict


class WrittenQuestion(BaseModel):
    """A question that a model wrote: what it asks for, its answer, and the words of the passage that this rests on."""

    model_config = ConfigDict(frozen=True)

    kind: str = ""
    question: str = ""
    answer: str = ""
    evidence: str = ""


class AskPassage(dspy.Signature):
    """Write questions that a user of these documents would ask and this passage alone answers: one for each kind that
    is wanted. Where the passage has nothing on a kind, ask for what it does tell and name that kind instead: fact,
    definition, how, why, list, condition, comparison, consequence or purpose.

    A question asks one thing in the words of somebody who wants to know or to do something and has not seen the
    passage. It names its subject in full, so that it can be understood alone, and does not give its answer away. The
    answer is right, complete and stated in the passage. The evidence is copied from the passage word for word; pieces
    that stand apart are separated by " | ".
    """

    topic: str = dspy.InputField(desc="title and headings above the passage")
    before: str = dspy.InputField(desc="what stands just before the passage", default="")
    passage: str = dspy.InputField(desc="the passage to ask about")
    asked_already: list[str] = dspy.InputField(desc="questions not to repeat", default=[])
    answers: str = dspy.InputField(desc="how long answers are")
    kinds: list[str] = dspy.InputField(desc="what the questions ask for")
    questions: list[WrittenQuestion] = dspy.OutputField(desc="one for each kind, in the language of the passage")
