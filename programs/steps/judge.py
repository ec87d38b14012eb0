"""Step ``judge``: decides whether a question is suitable for an evaluation set."""

from collections.abc import Mapping

from programs.features import question_features
from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from signatures.judge import JudgeQuestion


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    passage, question = inputs["passage"], inputs["question"]
    f = question_features(question, passage, languages.of(passage), languages.of(question))
    independent = (
        2.0
        - 4.5 * f["context_reference"]
        - 1.8 * f["pronouns"]
        - 2.2 * f["generic"]
        - 2.5 * f["broad"]
        + 0.7 * min(2.0, f["names"] + f["numbers"])
    )
    clear = (
        1.8
        - 4.0 * (1 - f["question_mark"])
        - 3.0 * f["several"]
        - 3.0 * (1 - f["question_word"])
        - 1.2 * f["question_word_late"] * (1 - f["opens_with_question_word"])
        - 3.0 * f["other_language"]
        - 2.5 * (f["words"] < 3)
        - 0.25 * max(0.0, f["words"] - 22)
        - 6.0 * max(0.0, f["repeats"] - 0.2)
        - 1.0 * (1 - f["capital_or_digit"])
        - 1.2 * f["repeated_names"]
        - 2.4 * f["ungrammatical"]
        - 1.5 * f["broad"]
    )
    answerable = (
        -2.2
        + 3.2 * f["coverage"]
        - 0.35 * f["missing"]
        - 1.6 * f["absent_numbers"]
        - 0.8 * f["absent_names"]
        + 3.5 * similarity(question, passage)
    )
    return {
        "fit": logistic(min(independent, clear, answerable)),
        "independent": logistic(independent),
        "clear": logistic(clear),
        "answerable": logistic(answerable),
    }


_STRICT = {
    "independent": "Read the question alone first, as somebody who will never see the passage. It is no if a name "
    "in it says nothing until the passage explains who or what that is, or if it says 'the author', 'the study' or "
    "'this method' without saying which.",
    "clear": "It is no if two things are asked at once, if several different answers would be right, or if the "
    "question already holds its own answer.",
    "answerable": "Find the words of the passage that answer it. It is no if there are none: a passage often "
    "speaks of the matter and does not say just this. It is no if a name, number, date or cause in the question "
    "is another one in the passage.",
    "fit": "One no above is enough for no.",
}

STEP = Step("judge", JudgeQuestion, decides=True, hand_set=weigh, strict=_STRICT)
