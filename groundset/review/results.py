"""What reviews come to: progress and agreement, shares by group of samples, and pairwise review of runs."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from groundset.review.session import ListedItem, ReviewSession
from groundset.run import Run
from groundset.stats import ALPHA, Estimate, fisher, holm, kappa, mcnemar, wilson
from groundset.store.reviews import Consensus, consensus_by_item, latest_reviews
from programs.errors import InputError
from programs.types import Sample

# What samples are grouped by, in the order in which it is shown; the last comes from reviews, not from samples.
GROUPS = ("run", "recipe", "evolution", "kind", "language", "document", "reader")
Marked = tuple[str, bool]  # a value of a group, and whether one with it was found good


class ReviewProgress(NamedTuple):
    """How many items there are and what became of them; ``share`` is that of signed ones among those reviewed."""

    items: int
    signed: int
    corrected: int
    refused: int
    skipped: int
    share: Estimate | None

    @property
    def reviewed(self) -> int:
        """Return how many items have a verdict."""
        return self.signed + self.refused


class Agreement(NamedTuple):
    """How two reviewers agree on the samples, or on the rejects, that both reviewed.

    ``kappa`` is Cohen's, None where one of them says the same of everything: chance then explains all.
    """

    reviewers: tuple[str, str]
    what: str
    both: int
    same: int
    kappa: float | None


class Tally(NamedTuple):
    """How many were reviewed, and how many of them were found good."""

    good: int
    reviewed: int

    @property
    def share(self) -> Estimate | None:
        """Return the share of good ones with its 95 % interval by Wilson; None where nothing was reviewed."""
        return wilson(self.good, self.reviewed)


class ReviewSummary(NamedTuple):
    """What the reviews of runs come to.

    Attributes:
        samples: those that all their reviewers signed, among those reviewed.
        groups: the same by each of ``GROUPS`` and its values; by reviewer, what each of them signed.
        unread: samples that nobody reviewed.
        corrected: signed samples with another wording than they were made with.
        disputed: samples that one reviewer signed and another refused; they count as reviewed.
        rejects: those that are good, among those reviewed; the steps that refused them were wrong.
        steps: the same by step.
        agreements: of every two reviewers of some of the same.
    """

    samples: Tally
    groups: dict[str, dict[str, Tally]]
    unread: int
    corrected: int
    disputed: int
    rejects: Tally
    steps: dict[str, Tally]
    agreements: list[Agreement]


class RunShare(NamedTuple):
    """A run: how many of its items there are, were reviewed and were signed, and the share signed."""

    name: str
    items: int
    reviewed: int
    signed: int
    share: Estimate | None


class PairwiseTest(NamedTuple):
    """Two runs, and the test of their difference.

    Attributes:
        first, second: the runs.
        passages: how many passages both were asked about, for a sign test over these; 0 for Fisher's exact test,
            where the runs ask about other passages.
        better, worse: how many of them went better for the first run, and for the second.
        p: corrected by Holm's method where there are several pairs of runs.
    """

    first: str
    second: str
    passages: int
    better: int
    worse: int
    p: float

    @property
    def differs(self) -> bool:
        """Return whether the runs differ."""
        return self.p < ALPHA


def progress_of(session: ReviewSession) -> ReviewProgress:
    """Return how far the reviewer is."""
    counts = session.counts()
    signed = counts["signed"] + counts["corrected"]
    share = wilson(signed, signed + counts["refused"])
    return ReviewProgress(len(session.items), signed, counts["corrected"], counts["refused"], counts["skipped"], share)


def agreements(session: ReviewSession) -> list[Agreement]:
    """Return how the reviewer agrees with every other one who reviewed some of the same; the reviewer comes first."""
    found = []
    for log in session.logs:
        for rows in log.latest.values():
            verdicts = {name: row.review.verdict for name, row in rows.items() if row.review and row.review.verdict}
            if own := verdicts.pop(session.reviewer, None):
                found += [((session.reviewer, name), (own, verdict)) for name, verdict in verdicts.items()]
    return _agreements(found, session.kind)


def summarise_reviews(folders: Sequence[Path]) -> ReviewSummary:
    """Return what the reviews of runs come to, over all of them.

    Raises:
        InputError: a folder holds no run, or is named twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise InputError("a run is named twice; name each RUN once")
    reviewed: list[Consensus] = []
    unread, rows, rejects = 0, {name: list[Marked]() for name in GROUPS}, list[Marked]()
    verdicts: dict[str, dict[tuple[Path, str], dict[str, str]]] = {"sample": {}, "reject": {}}
    for folder in folders:
        run = Run(folder)
        reviews, consensus = latest_reviews(run.reviews), run.consensus
        of_rejects = consensus_by_item(reviews, "reject")
        recipe = str((run.settings["configuration"] or {}).get("recipe") or "")
        for sample in run:
            if found := consensus.get(sample.id):
                reviewed.append(found)
                for name, value in _facts(sample, folder, recipe):
                    rows[name].append((value, found.verdict == "good"))
        ids = {sample.id for sample in run}
        unread += len(ids - consensus.keys())
        for review in reviews:
            verdicts[review.kind].setdefault((folder, review.item), {})[review.reader] = str(review.verdict)
            if review.kind == "sample" and review.item in ids:
                rows["reader"].append((review.reader, review.verdict == "good"))
        for place, reject in enumerate(run.rejects, 1):
            if found := of_rejects.get(str(place)):
                rejects.append((reject.step, found.verdict == "good"))
    signed = [found for found in reviewed if found.verdict == "good"]
    return ReviewSummary(
        samples=Tally(len(signed), len(reviewed)),
        groups={name: _tallies(found) for name, found in rows.items()},
        unread=unread,
        corrected=sum(found.question is not None or found.answer is not None for found in signed),
        disputed=sum(found.verdict == "disputed" for found in reviewed),
        rejects=Tally(sum(good for _, good in rejects), len(rejects)),
        steps=_tallies(rejects),
        agreements=[
            agreement for kind, items in verdicts.items() for agreement in _agreements(_pairs(items.values()), kind)
        ],
    )


def run_shares(session: ReviewSession) -> list[RunShare]:
    """Return what was reviewed of each run, in the order in which they were named."""
    verdicts = _verdicts(session)
    found = []
    for run, name in enumerate(session.names):
        own = [good for item, good in verdicts if item.run == run]
        items = sum(item.run == run for item in session.items)
        found.append(RunShare(name, items, len(own), sum(own), wilson(sum(own), len(own))))
    return found


def openly_reviewed(session: ReviewSession) -> int:
    """Return how many of the reviewer's verdicts were given where the run was not hidden."""
    reviews = (session.own(item) for item, _ in _verdicts(session))
    return sum(review is not None and not review.blind for review in reviews)


def pairwise_tests(session: ReviewSession) -> list[PairwiseTest]:
    """Test each pair of runs of which something was reviewed.

    Runs are paired by passages where at least half of what was reviewed of each is about passages that both were asked
    about; what is compared is then the share signed of each such passage. One question of each run about a passage
    makes that McNemar's exact test.
    """
    by_passage: list[dict[str, list[bool]]] = [defaultdict(list) for _ in session.names]
    for item, good in _verdicts(session):
        by_passage[item.run][_passage_digest(session, item)].append(good)
    found = [
        _pairwise(session.names[one], by_passage[one], session.names[other], by_passage[other])
        for one, other in combinations(range(len(session.names)), 2)
        if by_passage[one] and by_passage[other]
    ]
    return [test._replace(p=p) for test, p in zip(found, holm([test.p for test in found]), strict=True)]


def _agreements(verdicts: Iterable[tuple[tuple[str, str], tuple[str, str]]], what: str) -> list[Agreement]:
    """Return the agreement of each pair of reviewers, from the verdicts of the two on each item."""
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for names, pair in verdicts:
        pairs[names].append(pair)
    return [
        Agreement(names, what, len(found), sum(one == other for one, other in found), kappa(*zip(*found, strict=True)))
        for names, found in sorted(pairs.items())
    ]


def _pairs(items: Iterable[Mapping[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for verdicts in items:
        for one, other in combinations(sorted(verdicts), 2):
            yield (one, other), (verdicts[one], verdicts[other])


def _tallies(rows: Iterable[Marked]) -> dict[str, Tally]:
    """Count good ones by value; the value with most reviews comes first."""
    reviewed, good = Counter[str](), Counter[str]()
    for value, is_good in rows:
        reviewed[value] += 1
        good[value] += is_good
    order = sorted(reviewed, key=lambda value: (-reviewed[value], value))
    return {value: Tally(good[value], reviewed[value]) for value in order}


def _facts(sample: Sample, folder: Path, recipe: str) -> Iterator[tuple[str, str]]:
    """Yield the groups of a sample and its values in them, as far as they are known."""
    facts: dict[str, Iterable[str]] = {
        "run": [str(folder)],
        "recipe": [recipe],
        "evolution": [sample.evolution],
        "kind": [str(sample.metadata.get("kind") or "")],
        "language": [sample.language],
        "document": dict.fromkeys(chunk.path for chunk in sample.contexts),
    }
    yield from ((name, value) for name, values in facts.items() for value in values if value)


def _verdicts(session: ReviewSession) -> list[tuple[ListedItem, bool]]:
    states = [(item, session.state(item)) for item in session.items]
    return [(item, state != "refused") for item, state in states if state in ("signed", "corrected", "refused")]


def _passage_digest(session: ReviewSession, item: ListedItem) -> str:
    """Return a digest of the text of the passage, which is the same in two runs."""
    items = session.stores[item.run].items
    if session.kind == "sample":
        texts = [chunk.text for chunk in items.sample(item.entry.item).contexts]
    else:
        texts = [chunk.text for chunk in items.chunks([items.reject(item.entry.item)[0].chunk_id])]
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


def _pairwise(first: str, one: dict[str, list[bool]], second: str, other: dict[str, list[bool]]) -> PairwiseTest:
    shared = [name for name in one if name in other]
    if all(2 * sum(len(side[name]) for name in shared) >= sum(map(len, side.values())) for side in (one, other)):
        gains = np.array([np.mean(one[name]) - np.mean(other[name]) for name in shared])
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        return PairwiseTest(first, second, len(shared), better, worse, mcnemar(gains))
    sides = [np.array([good for goods in side.values() for good in goods]) for side in (other, one)]
    return PairwiseTest(first, second, 0, 0, 0, fisher(*sides))
