"""Step ``chunk``: decides whether a chunk is suitable for questions."""

from collections.abc import Mapping

from programs.features import chunk_features
from programs.languages.table import Languages
from programs.numbers import logistic
from programs.steps.base import Similarity, Step
from signatures.chunk import ScoreChunk


def weigh(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    """Return the probability of each output, with weights set by hand."""
    del similarity
    f = chunk_features(inputs["passage"], inputs["topic"], languages.of(inputs["passage"].strip()))
    content = (
        2.6
        + 2.5 * (f["whole_share"] - 0.6)
        + 9 * min(0.0, f["stop_share"] - 0.28)
        - 0.9 * min(5.0, f["citations"])
        - 0.35 * max(0.0, f["years"] - 3)
        - 2.4 * f["list_share"]
        - 1.6 * f["short_line_share"]
        - 0.7 * min(5.0, f["code"])
        - 12 * max(0.0, f["digit_share"] - 0.06)
        - 6 * max(0.0, f["capital_share"] - 0.3)
        - 0.5 * min(4.0, f["boilerplate"])
        - 3.0 * f["boilerplate_heading"]
        - 1.5 * (f["whole_sentences"] < 2)
    )
    self_contained = (
        2.2
        - 1.2 * f["starts_dependent"]
        - 1.6 * f["starts_mid"]
        - 0.6 * f["ends_open"]
        - 0.12 * min(15.0, f["pronouns"])
        + 0.6 * f["names_topic"]
        - 1.0 * (f["words"] < 30)
    )
    return {
        "fit": logistic(min(content, self_contained)),
        "content": logistic(content),
        "self_contained": logistic(self_contained),
        "clarity": logistic(1.0 + 3 * (f["whole_share"] - 0.5) - 0.5 * f["code"]),
        "depth": logistic(-1.5 + 0.06 * min(60.0, f["facts"]) + 0.015 * min(120.0, f["words"])),
        "structure": logistic(-2.0 + 4 * f["whole_share"] - 2 * f["list_share"]),
        "relevance": logistic(0.2 + 1.5 * f["names_topic"] + 1.0 * f["topic_overlap"]),
    }


_STRICT = {
    "self_contained": "The topic belongs to the passage: what it names need not be said again, and text that is "
    "cut off at its edges is no fault by itself. It is no if the facts are about an 'it', 'they', 'this' or a bare "
    "name of which neither topic nor passage says what it is.",
    "content": "It is no if most of it is a list of sources, links, headings or figures, however many facts those "
    "hold.",
    "fit": "It is no if you cannot name one fact that a stranger who knows the topic would understand. One no "
    "above is enough for no.",
}

STEP = Step("chunk", ScoreChunk, decides=True, hand_set=weigh, strict=_STRICT)
