"""Step ``chunk``: is a chunk fit to ask questions about?

``fit`` decides; the other outputs say why.
"""

from typing import Annotated

import dspy
from dspy.experimental import Noul, Score

Fit = Noul[
    (True, "A reader who sees nothing else finds a fact that a question can be asked about."),
    (False, "It leans on other text, says nothing specific, or is no running text."),
]
SelfContained = Noul[
    (True, "Names what it speaks of; a reader needs no other text."),
    (False, "Starts or ends in mid-thought, or leans on text outside it."),
]
Content = Noul[
    (True, "Running text that states facts, explains or tells."),
    (
        False,
        "References, link lists, navigation, tables of contents, bare tables, notices or other metadata.",
    ),
]
Clarity = Score["hard to follow", "understandable", "clear and precise"]
Depth = Score["hardly any information", "some facts", "many specific facts"]
Structure = Score["fragments", "loosely connected", "well-formed sentences in order"]
Relevance = Score["beside the document's subject", "touches the subject", "about the subject"]


class ScoreChunk(dspy.Signature):
    """Decide whether this passage is fit to ask questions about."""

    topic: str = dspy.InputField(desc="title and headings above the passage")
    passage: str = dspy.InputField(desc="the passage to judge")
    fit: Annotated[bool, Fit] = dspy.OutputField(desc="Is the passage fit to ask questions about?")
    self_contained: Annotated[bool, SelfContained] = dspy.OutputField(
        desc="Can the passage be understood without any other text?"
    )
    content: Annotated[bool, Content] = dspy.OutputField(
        desc="Is the passage running text with facts rather than references, navigation or other metadata?"
    )
    clarity: Clarity = dspy.OutputField(desc="How clearly is the passage written?")
    depth: Depth = dspy.OutputField(desc="How much specific information does the passage hold?")
    structure: Structure = dspy.OutputField(desc="How well is the passage formed?")
    relevance: Relevance = dspy.OutputField(desc="How close is the passage to the subject of its document?")
