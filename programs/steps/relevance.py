"""Step ``relevance``: decides whether a passage helps to answer a question."""

from collections.abc import Mapping

from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from programs.text import share
from signatures.relevance import JudgeRelevance


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    question, passage = inputs["question"], inputs["passage"]
    language = languages.of(passage)
    words = set(language.content_words(question))
    shared = share(len(words & set(language.content_words(f"{inputs['topic']} {passage}"))), len(words))
    return {"relevant": logistic(-3 + 3 * similarity(question, passage) + 4 * shared)}


_STRICT = {
    "relevant": "Name for yourself the words of the passage that would be used in the answer. It is no if there are "
    "none: to have the same subject or the same names is not enough. A passage may give a part of the answer only, and "
    "say it in other words than the question.",
}

STEP = Step("relevance", JudgeRelevance, decides=True, hand_set=weigh, strict=_STRICT)
