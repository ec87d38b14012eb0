"""How far a reader is, what share is signed, and how readers agree."""

from typing import NamedTuple

from groundset.comparing.figures import Figure
from groundset.reviewing.desk import Desk


class Headway(NamedTuple):
    """How many items there are and what became of them; ``share`` is that of signed ones among those read."""

    items: int
    signed: int
    mended: int
    refused: int
    skipped: int
    share: Figure | None

    @property
    def read(self) -> int:
        """Return how many items have a verdict."""
        return self.signed + self.refused


class Agreement(NamedTuple):
    """How the reader and another one agree on what both read.

    ``kappa`` is Cohen's, None where one of them says the same of everything: chance then explains all.
    """

    reader: str
    both: int
    same: int
    kappa: float | None


def progress_of(desk: Desk) -> Headway:
    """Return how far the reader is."""
    counts = desk.counts()
    signed = counts["signed"] + counts["mended"]
    share = share_of(signed, signed + counts["refused"])
    return Headway(len(desk.items), signed, counts["mended"], counts["refused"], counts["skipped"], share)


def share_of(count: int, total: int) -> Figure | None:
    """Return a share with its 95 % interval by Wilson; None of nothing."""
    if not total:
        return None
    from scipy.stats import binomtest

    bounds = binomtest(count, total).proportion_ci(method="wilson")
    return Figure(count / total, float(bounds.low), float(bounds.high))


def agreements(desk: Desk) -> list[Agreement]:
    """Return how the reader agrees with every other one who read something of the same."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for notebook in desk.notebooks:
        for rows in notebook.items.values():
            own = rows[desk.reader].review.verdict if desk.reader in rows else None
            for name, row in rows.items():
                if own and name != desk.reader and row.review.verdict:
                    pairs.setdefault(name, []).append((own, row.review.verdict))
    return [_agreement(name, found) for name, found in sorted(pairs.items())]


def _agreement(reader: str, pairs: list[tuple[str, str]]) -> Agreement:
    own, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    kappa = None
    if len(set(own)) > 1 and len(set(theirs)) > 1:
        from sklearn.metrics import cohen_kappa_score

        kappa = float(cohen_kappa_score(own, theirs))
    return Agreement(reader, len(pairs), sum(one == other for one, other in pairs), kappa)
