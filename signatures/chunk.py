"""What is asked about a chunk: is it fit to ask about, and what can be asked about."""

import dspy


class ScoreChunk(dspy.Signature):
    """Decide whether a question can be asked about this passage, for somebody who sees nothing else
    of the document.

    Content: it states facts, explains or tells something, in sentences, steps, a table with its
    headings, or code with its explanation. It is no if the passage is mostly references, links,
    navigation, a table of contents, a notice or other matter around a text. Self contained: it
    names what it speaks of. It is no if what the passage is about can only be found in other text.
    Half a sentence at an end does not matter.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage to judge")
    reason: str = dspy.OutputField(desc="what speaks for and against it, in at most 25 words")
    content: bool = dspy.OutputField(desc="is there something to ask about?")
    self_contained: bool = dspy.OutputField(desc="can it be understood without other text?")
    confidence: int = dspy.OutputField(desc="how sure you are that it is fit, from 0 to 100")


class ExtractKeyphrases(dspy.Signature):
    """List three to five phrases of the passage that users of these documents could ask about:
    things, actions, conditions, amounts and terms that it tells something about, the most useful
    first. Each names another matter."""

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage to read")
    keyphrases: list[str] = dspy.OutputField(desc="three to five phrases copied word for word")
