"""The questions of several runs, each once."""

from collections.abc import Mapping, Sequence

import numpy as np

from groundset.engine.duplicates import Duplicates, source_of
from groundset.run import reject_sample
from groundset.store.reviews import Consensus
from groundset.store.tables import Vectors
from programs.types import Reject, Sample

_STANDING = {"good": 0, "bad": 2}


def without_repeats(
    samples: Sequence[Sample], vectors: Vectors, read: Mapping[str, Consensus]
) -> tuple[list[int], list[Reject]]:
    """Return the places of the questions that are kept, in order, and the others as rejects.

    Of questions that repeat each other, that which its readers signed is kept, before those that nobody read and those
    that were refused; then the one with the best probability; then the first.

    Args:
        samples: of all runs.
        vectors: of their questions, a row for each.
        read: what the readers of samples came to, by id.
    """
    known = dict(zip((sample.question for sample in samples), vectors, strict=True))
    duplicates = Duplicates(lambda questions: np.stack([known[question] for question in questions]))
    kept: list[int] = []
    rejects: list[Reject] = []
    for place in sorted(range(len(samples)), key=lambda place: _order(samples[place], read)):
        sample = samples[place]
        repeated = duplicates.find(sample.question, vectors[place], **source_of(sample))
        if repeated is None:
            duplicates.add(sample.question, vectors[place], **source_of(sample))
            kept.append(place)
            continue
        question, similarity = repeated
        reason = f"repeats an accepted question: {question!r} (similarity {similarity:.2f})"
        rejects.append(reject_sample(sample, "duplicate", reason))
    return sorted(kept), rejects


def _order(sample: Sample, read: Mapping[str, Consensus]) -> tuple[int, float]:
    standing = read[sample.id].verdict if sample.id in read else ""
    return _STANDING.get(standing, 1), -sample.probability
