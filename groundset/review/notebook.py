"""What readers said of the items of one run, click by click, and how a click is undone."""

from collections.abc import Collection, Container, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from groundset.review.filters import State
from groundset.store.pieces import Kind
from groundset.store.reviews import Review, ReviewTable


class Row(NamedTuple):
    """A review and its number in the run."""

    number: int
    review: Review


class Click(NamedTuple):
    """When a reader clicked, and the name of the click."""

    when: datetime
    name: str


class Notebook:
    """The reviews of one kind of item of a run, as far as they were taken up."""

    def __init__(self, table: ReviewTable, kind: Kind) -> None:
        """Begin with no row taken up."""
        self._table, self._kind = table, kind
        self._last = 0
        self._rows: list[Row] = []
        self._standing: dict[str, dict[str, Row]] = {}

    @property
    def items(self) -> Mapping[str, Mapping[str, Row]]:
        """Return the last row of each reader for each item that was ever read, taken back or not."""
        return self._standing

    def row(self, number: int) -> Review | None:
        """Return the review of a number, or None."""
        return next((row.review for row in self._rows if row.number == number), None)

    def take_up(self) -> None:
        """Read the rows that were added by this process or another since the last time."""
        for number, review in self._table.after(self._last).items():
            self._last = number
            if review.kind == self._kind:
                row = Row(number, review)
                self._rows.append(row)
                self._standing.setdefault(review.item, {})[review.reader] = row

    def add(self, reviews: Collection[Review]) -> None:
        """Store reviews, all or none, and take them up."""
        if reviews:
            self._table.add(*reviews)
            self.take_up()

    def last_click(self, reader: str, items: Container[str]) -> Click | None:
        """Return the last click of a reader about some items that was not undone."""
        undone = set()
        for _, review in reversed(self._rows):
            if review.reader == reader and review.undoes:
                undone.add(review.undoes)
            elif review.reader == reader and review.item in items and review.click and review.click not in undone:
                return Click(review.read_at, review.click)
        return None

    def undo(self, click: str) -> list[str]:
        """Put back what stood before a click, and return the items that it was about; none if that was done before."""
        if any(row.review.undoes == click for row in self._rows):
            return []  # of a click on several runs, when one of them was read alone: words have been said since
        undoing: dict[str, Review] = {}
        before: dict[tuple[str, str], Review] = {}
        for _, review in self._rows:
            key = review.item, review.reader
            if review.click == click:
                blank = Review(kind=review.kind, item=review.item, reader=review.reader, verdict=None)
                changes = {"click": None, "undoes": click, "read_at": datetime.now(UTC)}
                undoing[review.item] = before.get(key, blank).model_copy(update=changes)
            before[key] = review
        self.add(undoing.values())
        return list(undoing)


def state_of(review: Review | None) -> State:
    """Return what a reader's last word makes of an item."""
    if review is None or (review.verdict is None and not review.skipped):
        return "unread"
    if review.verdict is None:
        return "skipped"
    if review.verdict == "bad":
        return "refused"
    return "signed" if review.question is None and review.answer is None else "mended"
