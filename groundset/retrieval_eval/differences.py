"""Which differences between settings are real, and how to say so."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from groundset.retrieval_eval.figures import (
    ALPHA,
    Figure,
    Units,
    Values,
    detectable,
    holm,
    mcnemar,
    mean,
    permutation,
    told_p,
)
from groundset.retrieval_eval.settings import RetrievalSetting

HIT, RECIPROCAL = "hit@1", "mean reciprocal rank"


class Scores(NamedTuple):
    """What one setting reached, a value for each question: 1 or 0, and one over the rank or 0."""

    setting: RetrievalSetting
    hits: Values
    reciprocal: Values


class Difference(NamedTuple):
    """How much ``better`` gains over ``worse``, which are places in the table.

    ``p`` is corrected for all tests of the comparison. A difference is real if that is below 0.05 and the interval
    leaves out zero; ``detectable`` is the gain that it would have taken.
    """

    measure: str
    better: int
    worse: int
    gain: Figure
    p: float
    is_real: bool
    detectable: float


def differences(scores: Sequence[Scores], units: Units) -> list[Difference]:
    """Compare every setting with every other, the first of them first."""
    pairs = list(combinations(range(len(scores)), 2))
    tests = 2 * len(pairs)
    found = []
    for one, other in pairs:
        before, after = scores[one], scores[other]
        gained = after.hits - before.hits
        found.append((HIT, one, other, gained, mcnemar(gained)))
        p = permutation(before.reciprocal, after.reciprocal, units)
        found.append((RECIPROCAL, one, other, after.reciprocal - before.reciprocal, p))
    corrected = holm([p for *_, p in found])
    return [
        _difference(measure, one, other, gained, p, units, tests)
        for (measure, one, other, gained, _), p in zip(found, corrected, strict=True)
    ]


def _difference(measure: str, one: int, other: int, gained: Values, p: float, units: Units, tests: int) -> Difference:
    better, worse = (other, one) if gained.sum() >= 0 else (one, other)
    gain = mean(gained if better == other else -gained, units, lowest=-1.0)
    least = detectable(gain, len(gained), tests, counted=measure == HIT)
    return Difference(measure, better, worse, gain, p, p < ALPHA and gain.low > 0, least)


def sentences(found: Sequence[Difference], settings: Sequence[RetrievalSetting], questions: int) -> list[str]:
    """Say each real difference in one sentence, and in one more what could not be told apart."""
    said: dict[tuple[int, int], list[str]] = {}
    for each in found:
        if each.is_real:
            figure = f"{each.measure} +{each.gain}, {told_p(each.p)}"
            said.setdefault((each.better, each.worse), []).append(figure)
    lines = [
        f"{_name(settings[better], settings, None)} finds more than "
        f"{_name(settings[worse], settings, settings[better])}: {'; '.join(figures)}; n={questions}."
        for (better, worse), figures in said.items()
    ]
    told = {frozenset(pair) for pair in said}
    unreal = [each for each in found if frozenset((each.better, each.worse)) not in told]
    if unreal:
        least = {
            measure: float(np.median([each.detectable for each in unreal if each.measure == measure]))
            for measure in (HIT, RECIPROCAL)
        }
        taken = " or ".join(f"{value:.2f} in {measure}" for measure, value in least.items() if value < 1)
        lines.append(
            f"No {'other ' if lines else ''}difference can be told apart with n={questions}; "
            + (f"it would take one of about {taken}." if taken else "it takes more questions to see any.")
        )
    return lines


def _name(setting: RetrievalSetting, settings: Sequence[RetrievalSetting], beside: RetrievalSetting | None) -> str:
    """Name a setting by what tells it from the others, or from the one named before it."""
    others = [beside] if beside else settings
    parts = []
    if not beside or beside.embedder != setting.embedder:
        parts.append(setting.embedder)
    if any(other.chunker != setting.chunker for other in others):
        parts.append(f"with the {setting.chunker} chunker" if setting.options else f"on {setting.chunker}")
    if setting.size and any(other.size != setting.size for other in others):
        parts.append(f"at {setting.size}")
    return " ".join(parts)
