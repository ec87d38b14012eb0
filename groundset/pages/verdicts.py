"""The verdicts of reviewers: reasons, order of review, shares signed, and agreement."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from groundset.run.store import Review
from groundset.stats import Estimate, kappa, wilson
from programs.types import Sample

# Name in labels, label, and meaning of each reason for refusing a sample.
REASONS = {
    "context_reference": ("points at the passage", "It speaks of “the text”, or of what only the text shows."),
    "vague": ("vague", "Without the passage, it is unclear who or what is meant."),
    "unanswerable": ("not answered here", "The passage does not answer the question."),
    "wrong_premise": ("wrong premise", "The question assumes what the passage does not say."),
    "malformed": ("badly formed", "The question is not well formed in its language."),
    "conjoined": ("two in one", "The question asks several things at once."),
    "gives_away": ("gives its answer away", "The question contains its answer."),
    "incomplete": ("answer incomplete", "The question is good, but the answer is incomplete."),
    "unsupported": ("answer wrong", "The question is good, but the passage does not support the answer."),
    "other": ("other", "Anything else: say it in the note. It becomes no label."),
}
Verdicts = Mapping[str, Mapping[str, Review]]  # the last review of each reviewer, by sample and reviewer


class Tally(NamedTuple):
    """How many samples a reviewer reviewed and signed, with the share and its 95 % interval."""

    reviewer: str
    reviewed: int
    signed: int
    share: Estimate | None


class Agreement(NamedTuple):
    """How often two reviewers agree; ``kappa`` is None if one of them gave only one verdict."""

    reviewers: tuple[str, str]
    both: int
    same: int
    kappa: Estimate | None


def in_review_order(samples: Iterable[Sample]) -> list[Sample]:
    """Return samples in an order drawn at random that is the same for everyone.

    Who stops early has reviewed a random sample of the run, and two who do have reviewed the same samples.
    """
    return sorted(samples, key=lambda sample: hashlib.sha256(sample.id.encode()).digest())


def tallies(samples: Iterable[Sample], verdicts: Verdicts) -> list[Tally]:
    """Return what each reviewer signed, in the order of their names."""
    given: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        for reviewer, review in verdicts.get(sample.id, {}).items():
            given[reviewer].append(review.verdict == "signed")
    return [Tally(name, len(each), sum(each), wilson(sum(each), len(each))) for name, each in sorted(given.items())]


def agreements(samples: Iterable[Sample], verdicts: Verdicts) -> list[Agreement]:
    """Return the agreement of each pair of reviewers with samples in common."""
    pairs: dict[tuple[str, str], list[Sequence[str]]] = defaultdict(list)
    for sample in samples:
        for (one, first), (other, second) in combinations(sorted(verdicts.get(sample.id, {}).items()), 2):
            pairs[one, other].append((first.verdict, second.verdict))
    return [
        Agreement(names, len(given), sum(one == other for one, other in given), kappa(*zip(*given, strict=True)))
        for names, given in sorted(pairs.items())
    ]
