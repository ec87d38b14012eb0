"""Step ``judge``: would a person keep this question for this chunk?

``fit`` decides; the other outputs say why.
"""

from typing import Annotated

import dspy
from dspy.experimental import Noul

Fit = Noul[
    (True, "A careful editor would keep it: it stands alone, asks one clear thing, and the passage answers it."),
    (False, "It fails in any of these points."),
]
Independent = Noul[
    (True, "Names its subject; can be understood by someone who has not seen the passage."),
    (False, "Points at a passage, text or figure, or uses words whose meaning only the passage gives."),
]
Clear = Noul[
    (True, "Asks one thing in a well-formed way; it is plain what an answer would be."),
    (False, "Malformed, vague, more than one question, or not a question."),
]
Answerable = Noul[
    (True, "The passage alone gives the answer."),
    (False, "The passage does not give the answer or contradicts what the question assumes."),
]


class JudgeQuestion(dspy.Signature):
    """Decide whether this question is fit for an evaluation set."""

    passage: str = dspy.InputField(desc="the passage that the question was written from")
    question: str = dspy.InputField(desc="the question to judge")
    fit: Annotated[bool, Fit] = dspy.OutputField(desc="Is the question fit for an evaluation set?")
    independent: Annotated[bool, Independent] = dspy.OutputField(
        desc="Can the question be understood without the passage?"
    )
    clear: Annotated[bool, Clear] = dspy.OutputField(desc="Does the question ask one clear thing?")
    answerable: Annotated[bool, Answerable] = dspy.OutputField(desc="Does the passage answer the question?")
