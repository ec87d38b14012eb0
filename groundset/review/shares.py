"""What reading came to: the shares of samples that readers signed, of rejects that are good, and how readers agree."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from groundset.review.progress import kappa_of
from groundset.stats import Estimate, wilson
from groundset.store.reviews import Review, readings
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Sample

# What samples are told apart by, in the order in which it is shown; the last is told by reviews, not by samples.
GROUPS = ("run", "recipe", "evolution", "kind", "language", "document", "reader")


@dataclass
class Tally:
    """How many were read, and how many of them were found good."""

    good: int = 0
    read: int = 0

    def add(self, good: bool) -> None:
        """Count one more."""
        self.good += good
        self.read += 1

    @property
    def share(self) -> Estimate | None:
        """Return the share of good ones with its 95 % interval by Wilson; None where nothing was read."""
        return wilson(self.good, self.read)


class TwoReaders(NamedTuple):
    """How two readers agree on the samples, or on the rejects, that both read; ``kappa`` is Cohen's."""

    readers: tuple[str, str]
    what: str
    both: int
    same: int
    kappa: float | None


@dataclass
class Shares:
    """What readers of runs came to.

    Attributes:
        samples: those that all who read them signed, among those read.
        groups: the same by each of ``GROUPS`` and its values; by reader, what each of them signed.
        unread: samples that nobody read.
        mended: signed samples with another wording than they were made with.
        disputed: samples that one reader signed and another refused; they count as read.
        rejects: those that are good, among those read; the steps that refused them were wrong.
        steps: the same by step.
        agreements: of every two readers who read some of the same.
    """

    samples: Tally = field(default_factory=Tally)
    groups: dict[str, dict[str, Tally]] = field(default_factory=lambda: {name: {} for name in GROUPS})
    unread: int = 0
    mended: int = 0
    disputed: int = 0
    rejects: Tally = field(default_factory=Tally)
    steps: dict[str, Tally] = field(default_factory=dict)
    agreements: list[TwoReaders] = field(default_factory=list)


def shares_of(folders: Sequence[Path]) -> Shares:
    """Return what readers of runs came to, over all of them.

    Raises:
        InputError: a folder holds no run, or is named twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise InputError("a run is named twice; name every RUN once")
    shares = Shares()
    standing: list[tuple[int, Review]] = []
    for number, folder in enumerate(folders):
        with RunStore.read(folder) as store:
            reviews = store.reviews.standing()
            standing += ((number, review) for review in reviews)
            _add_samples(shares, store, reviews)
            _add_rejects(shares, store, reviews)
    shares.agreements = [*_agreements(standing, "sample"), *_agreements(standing, "reject")]
    for tallies in (*shares.groups.values(), shares.steps):
        ordered = sorted(tallies.items(), key=lambda each: (-each[1].read, each[0]))
        tallies.clear()
        tallies.update(ordered)
    return shares


def _add_samples(shares: Shares, store: RunStore, reviews: Sequence[Review]) -> None:
    read = readings(reviews)
    recipe = str((store.meta("configuration") or {}).get("recipe") or "")
    verdicts: dict[str, list[Review]] = {}
    for review in reviews:
        if review.kind == "sample":
            verdicts.setdefault(review.item, []).append(review)
    for sample in store.results.samples():
        reading = read.get(sample.id)
        if reading is None:
            shares.unread += 1
            continue
        signed = reading.verdict == "good"
        shares.samples.add(signed)
        shares.disputed += reading.verdict == "disputed"
        shares.mended += signed and not (reading.question is None and reading.answer is None)
        for name, value in _facts(sample, store.folder, recipe):
            shares.groups[name].setdefault(value, Tally()).add(signed)
        for review in verdicts[sample.id]:
            shares.groups["reader"].setdefault(review.reader, Tally()).add(review.verdict == "good")


def _facts(sample: Sample, folder: Path, recipe: str) -> Iterator[tuple[str, str]]:
    """Yield what tells a sample from others; nothing where it is not known."""
    facts = {
        "run": (str(folder),),
        "recipe": (recipe,),
        "evolution": (sample.evolution,),
        "kind": (str(sample.metadata.get("kind") or ""),),
        "language": (sample.language,),
        "document": dict.fromkeys(chunk.path for chunk in sample.contexts),
    }
    yield from ((name, value) for name, values in facts.items() for value in values if value)


def _add_rejects(shares: Shares, store: RunStore, reviews: Sequence[Review]) -> None:
    if not (read := readings(reviews, "reject")):
        return
    for place, reject in enumerate(store.results.rejects(), 1):
        if reading := read.get(str(place)):
            shares.rejects.add(reading.verdict == "good")
            shares.steps.setdefault(reject.step, Tally()).add(reading.verdict == "good")


def _agreements(standing: Iterable[tuple[int, Review]], what: str) -> Iterator[TwoReaders]:
    by_item: dict[tuple[int, str], dict[str, str]] = {}
    for number, review in standing:
        if review.kind == what:
            by_item.setdefault((number, review.item), {})[review.reader] = str(review.verdict)
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for verdicts in by_item.values():
        for one, other in combinations(sorted(verdicts), 2):
            pairs.setdefault((one, other), []).append((verdicts[one], verdicts[other]))
    for readers, found in sorted(pairs.items()):
        yield TwoReaders(readers, what, len(found), sum(one == other for one, other in found), kappa_of(found))
