"""Step ``fits``: decides whether a question and its answer fit a profile."""

from collections.abc import Mapping

from programs.languages.table import Languages
from programs.steps.base import Similarity, Step
from signatures.fits import JudgeFit


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the same probability for every question: profiles are free text, which no feature measures."""
    del inputs, similarity, languages
    return {"fits": 0.6}


_STRICT = {
    "fits": "Go through the profile line by line. The form of question and answer, and how much of the passages the "
    "answer needs, are met or not. On shades, such as who would ask this in these words or how hard it is, it is no "
    "only where the line is plainly wrong. A statement put as a question, a judgement or a conclusion is what some "
    "profiles want, and no fault then. Options fit only if the profile wants them, exactly one is right by the "
    "passages, and the wrong ones are of the same kind. It is no if the question speaks of the person of the profile.",
}

STEP = Step("fits", JudgeFit, decides=True, hand_set=weigh, strict=_STRICT)
