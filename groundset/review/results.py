"""Review statistics: progress, agreement, shares by group of samples, and pairwise comparison of runs."""

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
from groundset.store.folder import check_distinct
from groundset.store.reviews import Consensus, consensus_by_item, latest_reviews
from programs.types import Sample

# Grouping criteria in display order; the last comes from reviews.
GROUPS = ("run", "recipe", "evolution", "kind", "language", "document", "reader")
GroupVerdict = tuple[str, bool]  # a value of a group, and whether an item with it is good


class ReviewProgress(NamedTuple):
    """Numbers of items by state; ``share`` is the share signed of those reviewed."""

    items: int
    signed: int
    corrected: int
    refused: int
    skipped: int
    share: Estimate | None

    @property
    def reviewed(self) -> int:
        """Return the number of items with a verdict."""
        return self.signed + self.refused


class Agreement(NamedTuple):
    """Agreement of two reviewers on the samples or rejects that both reviewed.

    ``kappa`` is Cohen's kappa, None if it is undefined because a reviewer gave only one verdict.
    """

    reviewers: tuple[str, str]
    what: str
    both: int
    same: int
    kappa: float | None


class Tally(NamedTuple):
    """Numbers of good and reviewed items."""

    good: int
    reviewed: int

    @property
    def share(self) -> Estimate | None:
        """Return the share of good items with its 95 % Wilson interval; None without reviews."""
        return wilson(self.good, self.reviewed)


class ReviewSummary(NamedTuple):
    """Review statistics of runs.

    Attributes:
        samples: signed by all their reviewers, of those reviewed.
        groups: the same by each of ``GROUPS`` and its values; by reviewer, the samples that reviewer signed.
        unread: number of samples without a review.
        corrected: number of signed samples with corrections.
        disputed: number of samples with contradictory verdicts; they count as reviewed.
        rejects: good ones (wrongly refused), of those reviewed.
        steps: the same by step.
        agreements: agreement of each pair of reviewers with common items.
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
    """Numbers of items, reviewed and signed, and the share signed of a run."""

    name: str
    items: int
    reviewed: int
    signed: int
    share: Estimate | None


class PairwiseTest(NamedTuple):
    """A test of the difference between two runs.

    Attributes:
        first, second: names of the runs.
        passages: number of common passages for a sign test; 0 for Fisher's exact test on different passages.
        better, worse: number of passages on which the first or the second run is better.
        p: p-value, Holm-corrected over all pairs of runs.
    """

    first: str
    second: str
    passages: int
    better: int
    worse: int
    p: float

    @property
    def differs(self) -> bool:
        """Return whether the difference is significant."""
        return self.p < ALPHA


def progress_of(session: ReviewSession) -> ReviewProgress:
    """Return the progress of the reviewer."""
    counts = session.counts()
    signed = counts["signed"] + counts["corrected"]
    share = wilson(signed, signed + counts["refused"])
    return ReviewProgress(len(session.items), signed, counts["corrected"], counts["refused"], counts["skipped"], share)


def agreements(session: ReviewSession) -> list[Agreement]:
    """Return the agreement of the reviewer with each other reviewer; the reviewer's name comes first."""
    pairs = []
    for log in session.logs:
        for rows in log.latest.values():
            verdicts = {name: row.review.verdict for name, row in rows.items() if row.review and row.review.verdict}
            if own := verdicts.pop(session.reviewer, None):
                pairs += [((session.reviewer, name), (own, verdict)) for name, verdict in verdicts.items()]
    return _agreements(pairs, session.kind)


def summarise_reviews(folders: Sequence[Path]) -> ReviewSummary:
    """Summarise the reviews of runs.

    Raises:
        InputError: a folder holds no run, or is named twice.
    """
    check_distinct(folders)
    reviewed: list[Consensus] = []
    unread, rows, rejects = 0, {name: list[GroupVerdict]() for name in GROUPS}, list[GroupVerdict]()
    verdicts: dict[str, dict[tuple[Path, str], dict[str, str]]] = {"sample": {}, "reject": {}}
    for folder in folders:
        run = Run(folder)
        reviews, consensus = latest_reviews(run.reviews), run.consensus
        reject_consensus = consensus_by_item(reviews, "reject")
        recipe = str((run.settings["configuration"] or {}).get("recipe") or "")
        for sample in run:
            if sample_consensus := consensus.get(sample.id):
                reviewed.append(sample_consensus)
                for name, value in _facts(sample, folder, recipe):
                    rows[name].append((value, sample_consensus.verdict == "good"))
        ids = {sample.id for sample in run}
        unread += len(ids - consensus.keys())
        for review in reviews:
            verdicts[review.kind].setdefault((folder, review.item), {})[review.reader] = str(review.verdict)
            if review.kind == "sample" and review.item in ids:
                rows["reader"].append((review.reader, review.verdict == "good"))
        for position, reject in enumerate(run.rejects, 1):
            if verdict := reject_consensus.get(str(position)):
                rejects.append((reject.step, verdict.verdict == "good"))
    signed = [item for item in reviewed if item.verdict == "good"]
    return ReviewSummary(
        samples=Tally(len(signed), len(reviewed)),
        groups={name: _tallies(group) for name, group in rows.items()},
        unread=unread,
        corrected=sum(item.question is not None or item.answer is not None for item in signed),
        disputed=sum(item.verdict == "disputed" for item in reviewed),
        rejects=Tally(sum(good for _, good in rejects), len(rejects)),
        steps=_tallies(rejects),
        agreements=[
            agreement for kind, items in verdicts.items() for agreement in _agreements(_pairs(items.values()), kind)
        ],
    )


def run_shares(session: ReviewSession) -> list[RunShare]:
    """Return the share signed of each run, in the order of the session."""
    verdicts = _verdicts(session)
    shares = []
    for run, name in enumerate(session.names):
        good = [is_good for item, is_good in verdicts if item.run == run]
        items = sum(item.run == run for item in session.items)
        shares.append(RunShare(name, items, len(good), sum(good), wilson(sum(good), len(good))))
    return shares


def count_unblinded(session: ReviewSession) -> int:
    """Count the reviewer's verdicts that were not given blind."""
    reviews = (session.own(item) for item, _ in _verdicts(session))
    return sum(review is not None and not review.blind for review in reviews)


def pairwise_tests(session: ReviewSession) -> list[PairwiseTest]:
    """Test the difference of each pair of reviewed runs.

    If at least half of the reviewed items of both runs are about common passages, an exact sign test compares the share
    signed of each common passage; with one question per passage and run it is McNemar's exact test. Otherwise Fisher's
    exact test compares the shares of the runs.
    """
    by_passage: list[dict[str, list[bool]]] = [defaultdict(list) for _ in session.names]
    for item, good in _verdicts(session):
        by_passage[item.run][_passage_digest(session, item)].append(good)
    tests = [
        _pairwise(session.names[one], by_passage[one], session.names[other], by_passage[other])
        for one, other in combinations(range(len(session.names)), 2)
        if by_passage[one] and by_passage[other]
    ]
    return [test._replace(p=p) for test, p in zip(tests, holm([test.p for test in tests]), strict=True)]


def _agreements(verdicts: Iterable[tuple[tuple[str, str], tuple[str, str]]], kind: str) -> list[Agreement]:
    """Return the agreement of each pair of reviewers, given their names and verdicts for each item."""
    by_reviewers: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for names, pair in verdicts:
        by_reviewers[names].append(pair)
    return [
        Agreement(names, kind, len(pairs), sum(one == other for one, other in pairs), kappa(*zip(*pairs, strict=True)))
        for names, pairs in sorted(by_reviewers.items())
    ]


def _pairs(items: Iterable[Mapping[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for verdicts in items:
        for one, other in combinations(sorted(verdicts), 2):
            yield (one, other), (verdicts[one], verdicts[other])


def _tallies(rows: Iterable[GroupVerdict]) -> dict[str, Tally]:
    """Count verdicts by value, most reviewed first."""
    reviewed, good = Counter[str](), Counter[str]()
    for value, is_good in rows:
        reviewed[value] += 1
        good[value] += is_good
    order = sorted(reviewed, key=lambda value: (-reviewed[value], value))
    return {value: Tally(good[value], reviewed[value]) for value in order}


def _facts(sample: Sample, folder: Path, recipe: str) -> Iterator[tuple[str, str]]:
    """Yield the known groups of a sample with its values."""
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
    """Return a digest of the passage text, which is comparable between runs."""
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
