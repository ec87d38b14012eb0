"""How far a reader is, what share is signed, and how readers agree."""

from collections.abc import Sequence
from typing import NamedTuple

from groundset.review.desk import Desk
from groundset.stats import Estimate, kappa, wilson


class Headway(NamedTuple):
    """How many items there are and what became of them; ``share`` is that of signed ones among those read."""

    items: int
    signed: int
    mended: int
    refused: int
    skipped: int
    share: Estimate | None

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
    share = wilson(signed, signed + counts["refused"])
    return Headway(len(desk.items), signed, counts["mended"], counts["refused"], counts["skipped"], share)


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


def kappa_of(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of what two readers said of the same; None where one says the same of everything."""
    return kappa(*zip(*pairs, strict=True))


def _agreement(reader: str, pairs: list[tuple[str, str]]) -> Agreement:
    return Agreement(reader, len(pairs), sum(one == other for one, other in pairs), kappa_of(pairs))
