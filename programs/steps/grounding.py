"""Step ``grounding``: decides whether the passage supports an answer."""

from collections.abc import Mapping

from programs.features import answer_features
from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from signatures.grounding import GroundAnswer


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    del similarity
    f = answer_features(inputs["passage"], inputs["question"], inputs["answer"], languages.of(inputs["passage"]))
    if not f["words"]:
        return {"grounded": 0.01}
    return {
        "grounded": logistic(
            -2.6
            + 1.6 * f["verbatim"]
            + 1.5 * f["supported"]
            - 9.0 * max(0.0, f["in_question"] - 0.3)
            - 3.5 * (1 - f["kind_agrees"])
            + 2.0 * f["sentence_overlap"]
            + 3.0 * (f["near"] - 0.6)
            - 0.12 * max(0.0, f["words"] - 12)
        )
    }


_STRICT = {
    "grounded": "Check each name, number and date of the answer against the passage; a figure that follows by "
    "counting from its figures is stated. It is no if one is missing there or differs, if the passage speaks of "
    "the matter and does not say just this, if a part of what is asked stays without an answer, or if the answer "
    "belongs to a neighbouring question.",
}

STEP = Step("grounding", GroundAnswer, decides=True, hand_set=weigh, strict=_STRICT)
