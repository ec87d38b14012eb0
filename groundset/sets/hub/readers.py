"""What the people who read a set come to, with how sure that is."""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from groundset.stats import wilson
from groundset.store.reviews import readings

if TYPE_CHECKING:
    from groundset.store.run_store import RunStore


class Readers(NamedTuple):
    """How many samples of a run were read, and what became of them.

    ``share``, ``low`` and ``high`` are signed ones of 100 that were read, with the 95 % interval of Wilson.
    """

    read: int
    signed: int
    refused: int
    disputed: int
    share: int
    low: int
    high: int


def count_readers(store: "RunStore") -> Readers | None:
    """Return what the readers of a run's samples come to, None if nobody read one."""
    found = readings(store.reviews.standing())
    verdicts = Counter(found[sample.id].verdict for sample in store.results.samples() if sample.id in found)
    read = verdicts.total()
    signed = verdicts["good"]
    share = wilson(signed, read)
    if share is None:
        return None
    percent = (round(100 * part) for part in (share.value, share.low, share.high))
    return Readers(read, signed, verdicts["bad"], verdicts["disputed"], *percent)
