"""Step ``premise``: decides whether a passage states what a question takes for granted."""

from collections.abc import Mapping

from programs.features import question_features
from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from signatures.premise import CheckPremise


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    passage, question = inputs["passage"], inputs["question"]
    f = question_features(question, passage, languages.of(passage), languages.of(question))
    strange = 1.5 * f["absent_names"] + 1.5 * f["absent_numbers"]
    return {"holds": logistic(-1.5 + 3.0 * f["coverage"] + 2.0 * similarity(question, passage) - strange)}


_STRICT = {
    "holds": "Take the question apart: every thing, event, date and property that it mentions as a fact must be in the "
    "passage. The thing that it asks for need not be there.",
}

STEP = Step("premise", CheckPremise, decides=True, hand_set=weigh, strict=_STRICT)
