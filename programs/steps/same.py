"""Step ``same``: decides whether two questions ask for the same thing."""

from collections.abc import Mapping

from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from programs.text import numbers
from signatures.same import CompareQuestions


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    first, second = inputs["first"], inputs["second"]
    if numbers(first) != numbers(second):
        return {"same": 0.1}
    language = languages.of(f"{first} {second}")
    left, right = set(language.content_words(first)), set(language.content_words(second))
    added = len(right - left)
    return {"same": logistic(-9 + 11 * similarity(first, second) - 1.1 * added)}


_STRICT = {
    "same": "Compare what a full answer to each would have to say. Other words, a longer sentence or a condition "
    "that holds anyway are no difference.",
}

STEP = Step("same", CompareQuestions, decides=True, hand_set=weigh, strict=_STRICT)
