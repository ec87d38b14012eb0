"""Step ``agree``: decides whether two answers to a question say the same."""

from collections.abc import Mapping

from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from programs.text import numbers, share
from signatures.agree import CompareAnswers


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    first, second = inputs["first"], inputs["second"]
    language = languages.of(f"{first} {second}")
    if numbers(language.in_digits(first)) != numbers(language.in_digits(second)):
        return {"agree": 0.1}
    words = [set(language.content_words(text)) for text in (first, second)]
    shared = share(len(words[0] & words[1]), min(map(len, words)))  # one answer may be more detailed
    return {"agree": logistic(-4.5 + 4 * similarity(first, second) + 4 * shared)}


_STRICT = {
    "agree": "Other words for the same thing agree, and so do a full and a short name. Another number, name, "
    "cause or condition does not, nor does an answer that leaves out what was asked for.",
}

STEP = Step("agree", CompareAnswers, decides=True, hand_set=weigh, strict=_STRICT)
