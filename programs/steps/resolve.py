"""Step ``resolve``: decides whether a stand-alone question asks the same as the last message of a conversation."""

from collections.abc import Mapping, Sequence

from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from programs.text import share
from signatures.resolve import CompareWithConversation

Message = Mapping[str, str]


def transcript(messages: Sequence[Message]) -> str:
    """Return chat messages as one text, a line for each."""
    return "\n".join(f"{message['role'].capitalize()}: {message['content']}" for message in messages)


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    conversation, question = inputs["conversation"], inputs["question"]
    words = languages.of(question).content_words
    last, asked = set(words(conversation.rpartition("\n")[2])), set(words(question))
    kept = share(len(last & asked), len(last))
    known = share(len(asked & set(words(conversation))), len(asked))
    return {"resolved": logistic(-4.0 + 2.5 * kept + 3.0 * known + similarity(conversation, question))}


_STRICT = {
    "resolved": "Replace each word of the last message that refers back by what it stands for, and compare. Another "
    "person, thing, time or place is no, and so is a question that the last message does not ask.",
}

STEP = Step("resolve", CompareWithConversation, decides=True, hand_set=weigh, strict=_STRICT)
