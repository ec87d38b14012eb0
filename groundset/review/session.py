"""A review session: the items of one or more runs in review order, and their review logs."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from groundset.review.filters import STATES, Filter, State
from groundset.store.folder import check_distinct
from groundset.store.items import Entry, Kind
from groundset.store.reviews import Review, ReviewTable
from groundset.store.run_store import RunStore
from programs.errors import InputError


class LogRow(NamedTuple):
    """A review and its row number in the run; 0 and None without a review."""

    number: int
    review: Review | None


class ListedItem(NamedTuple):
    """A sample or a reject to be reviewed.

    Attributes:
        run: index of its run.
        entry: its facts.
        key: its key in URLs, which does not reveal the run.
    """

    run: int
    entry: Entry
    key: str


class ReviewLog:
    """The loaded reviews of one kind of item of a run.

    Attributes:
        latest: the last row by item and reviewer, including withdrawn verdicts.
    """

    def __init__(self, table: ReviewTable, kind: Kind) -> None:
        """Initialise without loading rows."""
        self._table, self._kind = table, kind
        self._last = 0
        self._rows: dict[int, Review] = {}
        self.latest: dict[str, dict[str, LogRow]] = {}

    def row(self, number: int) -> Review | None:
        """Return the review with a row number, or None."""
        return self._rows.get(number)

    def refresh(self) -> None:
        """Load new rows, also those of other processes."""
        for number, review in self._table.after(self._last).items():
            self._last = number
            if review.kind == self._kind:
                self._rows[number] = review
                self.latest.setdefault(review.item, {})[review.reader] = LogRow(number, review)

    def add(self, reviews: Collection[Review]) -> None:
        """Store reviews in one transaction and load them."""
        if reviews:
            self._table.add(*reviews)
            self.refresh()

    def last_click(self, reviewer: str, items: Container[str]) -> tuple[datetime, str] | None:
        """Return time and id of a reviewer's last click on some items that was not undone."""
        undone = set()
        for review in reversed(self._rows.values()):
            if review.reader == reviewer and review.undoes:
                undone.add(review.undoes)
            elif review.reader == reviewer and review.item in items and review.click and review.click not in undone:
                return review.read_at, review.click
        return None

    def undo(self, click: str) -> list[str]:
        """Restore the reviews before a click, and return its items; none if it was undone already."""
        if any(review.undoes == click for review in self._rows.values()):
            return []  # a click on several runs that was undone in a session of this run alone
        restored: dict[str, Review] = {}
        previous: dict[tuple[str, str], Review] = {}
        for review in self._rows.values():
            key = review.item, review.reader
            if review.click == click:
                blank = Review(kind=review.kind, item=review.item, reader=review.reader, verdict=None)
                changes = {"click": None, "undoes": click, "read_at": datetime.now(UTC)}
                restored[review.item] = previous.get(key, blank).model_copy(update=changes)
            previous[key] = review
        self.add(restored.values())
        return list(restored)


class ReviewSession:
    """The items under review. Not thread-safe.

    :meth:`refresh` loads samples and reviews that other processes have added.

    Attributes:
        reviewer: name of the reviewer.
        kind: kind of the items.
        blind: whether runs are hidden; False after the result was seen.
        names: names of the runs.
        stores, logs: the runs and their reviews.
        items: the items in review order.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        reviewer: str,
        *,
        kind: Kind = "sample",
        steps: Collection[str] = (),
        seed: int | None = None,
        blind: bool = False,
    ) -> None:
        """Open runs for review.

        ``steps`` selects rejects by step. ``seed`` shuffles the items; without one they are in the order of the runs.

        Raises:
            InputError: a folder holds no run or cannot be written, a run is named twice, or a step has no rejects.
        """
        check_distinct(folders)
        self.reviewer, self.kind, self.blind = reviewer, kind, blind
        self.names = [str(folder) for folder in folders]
        self.items: list[ListedItem] = []
        self._seed, self._steps = seed, frozenset(steps)
        self._secret = secrets.token_hex()
        self._indices: dict[str, int] = {}
        self._known: list[set[str]] = [set() for _ in folders]
        self._positions = [0 for _ in folders]
        with ExitStack() as stack:
            self.stores = [stack.enter_context(RunStore.review(folder)) for folder in folders]
            self.logs = [ReviewLog(store.reviews, kind) for store in self.stores]
            seen = self.refresh()
            for step in steps:
                if step not in seen:
                    available = f"choose from {', '.join(seen)}" if seen else "the run has no rejects"
                    raise InputError(f"--step {step}: no rejects of this step; {available}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the runs."""
        self._stack.close()

    def refresh(self) -> list[str]:
        """Load new items and reviews; return the steps of the new items."""
        added: list[ListedItem] = []
        seen: dict[str, None] = {}
        for run, store in enumerate(self.stores):
            entries = store.items.samples if self.kind == "sample" else store.items.rejects
            for entry in entries(self._positions[run]):
                self._positions[run] = entry.position
                seen[entry.step] = None
                if not self._steps or entry.step in self._steps:
                    added.append(ListedItem(run, entry, _digest(self._secret, run, entry)))
                    self._known[run].add(entry.item)
            self.logs[run].refresh()
        if added:
            self.items = sorted([*self.items, *added], key=self._order)
            self._indices = {item.key: index for index, item in enumerate(self.items)}
        return list(seen)

    def item(self, key: str) -> ListedItem | None:
        """Return the item with a URL key, or None."""
        index = self._indices.get(key)
        return None if index is None else self.items[index]

    def index(self, item: ListedItem) -> int:
        """Return the index of an item."""
        return self._indices[item.key]

    def latest(self, item: ListedItem) -> LogRow:
        """Return the reviewer's last log row for an item, which may withdraw a verdict."""
        return self.logs[item.run].latest.get(item.entry.item, {}).get(self.reviewer, LogRow(0, None))

    def own(self, item: ListedItem) -> Review | None:
        """Return the reviewer's last review of an item, which may withdraw a verdict."""
        return self.latest(item).review

    def own_at(self, item: ListedItem, number: int | None) -> Review | None:
        """Return the reviewer's review of an item with a row number, or the latest if the number is None."""
        current, own = self.latest(item)
        if own is None or number in (None, current):
            return own
        review = self.logs[item.run].row(number or 0)
        return review if review and (review.item, review.reader) == (own.item, own.reader) else None

    def others(self, item: ListedItem) -> list[Review]:
        """Return the verdicts of other reviewers on an item; empty before the reviewer has given one.

        Also empty if blind: reviewers of only one of the runs would reveal it.
        """
        own = self.own(item)
        if own is None or own.verdict is None or self.blind:
            return []
        rows = sorted(self.logs[item.run].latest[item.entry.item].items())
        return [row.review for name, row in rows if name != self.reviewer and row.review and row.review.verdict]

    def state(self, item: ListedItem) -> State:
        """Return the state of an item for this reviewer."""
        return _state(self.own(item))

    def counts(self) -> Counter[State]:
        """Count the items in each state."""
        counts = Counter(
            _state(rows[self.reviewer].review)
            for log, known in zip(self.logs, self._known, strict=True)
            for name, rows in log.latest.items()
            if self.reviewer in rows and name in known
        )
        counts["unread"] += len(self.items) - counts.total()
        return counts

    def matching(self, filters: Filter, indices: Iterable[int] | None = None) -> Iterator[ListedItem]:
        """Yield matching items, of all items or of those at some indices, in that order."""
        states = STATES.get(filters.state)
        for index in range(len(self.items)) if indices is None else indices:
            item = self.items[index]
            if (states is None or self.state(item) in states) and filters.matches(self.names[item.run], item.entry):
                yield item

    def next(self, filters: Filter, current: ListedItem | None) -> ListedItem | None:
        """Return the next matching item after the current one: unread first, then skipped, wrapping around.

        With a state filter, do not wrap around.
        """
        here = -1 if current is None else self.index(current)
        after, before = range(here + 1, len(self.items)), range(max(here, 0))
        if filters.state:
            return next(self.matching(filters, after), None)
        for state in ("unread", "skipped"):
            item = next(self.matching(replace(filters, state=state), chain(after, before)), None)
            if item:
                return item
        return None

    def previous(self, filters: Filter, current: ListedItem) -> ListedItem | None:
        """Return the matching item before the current one."""
        return next(self.matching(filters, reversed(range(self.index(current)))), None)

    def submit(
        self,
        item: ListedItem,
        verdict: Literal["good", "bad"],
        *,
        reason: str | None = None,
        question: str | None = None,
        answer: str | None = None,
        seen: int | None = None,
    ) -> Review | None:
        """Store a verdict unless it is unchanged; return the review that another tab has stored in the meantime.

        ``question`` and ``answer`` are corrected texts. ``seen`` is the row number known to the page (0 without a
        review); None disables the check.
        """
        self.refresh()
        number, own = self.latest(item)
        replaced = own if seen is not None and number != seen else None
        review = {"verdict": verdict, "reason": reason, "question": question, "answer": answer}
        if not own or any(getattr(own, name) != value for name, value in review.items()):
            self._add([item], **review)
        return replaced

    def submit_all(self, items: Sequence[ListedItem], verdict: Literal["good", "bad"], reason: str | None) -> None:
        """Store one verdict for many items, as one click."""
        self._add(items, verdict=verdict, reason=reason)

    def skip(self, item: ListedItem) -> None:
        """Mark an unread item as skipped."""
        self.refresh()
        if self.state(item) == "unread":
            self._add([item], verdict=None, skipped=True)

    def undo(self) -> list[ListedItem]:
        """Undo the reviewer's last click on these items that was not undone yet; return its items."""
        self.refresh()
        last_clicks = (log.last_click(self.reviewer, known) for log, known in zip(self.logs, self._known, strict=True))
        clicks = [click for click in last_clicks if click]
        if not clicks:
            return []
        _, click_id = max(clicks)
        undone = [log.undo(click_id) for log in self.logs]
        return [item for item in self.items if item.entry.item in undone[item.run]]

    def _add(self, items: Sequence[ListedItem], **review: Any) -> None:
        common = {"kind": self.kind, "reader": self.reviewer, "blind": self.blind, "click": secrets.token_hex(8)}
        for run, log in enumerate(self.logs):
            log.add([Review(item=item.entry.item, **common, **review) for item in items if item.run == run])

    def _order(self, item: ListedItem) -> Any:
        if self._seed is None:
            return item.run, item.entry.position
        return _digest(str(self._seed), item.run, item.entry)


def _digest(secret: str, run: int, entry: Entry) -> str:
    return hashlib.blake2b(f"{secret}\0{run}\0{entry.item}".encode(), digest_size=8).hexdigest()


def _state(review: Review | None) -> State:
    if review is None or (review.verdict is None and not review.skipped):
        return "unread"
    if review.verdict is None:
        return "skipped"
    if review.verdict == "bad":
        return "refused"
    return "signed" if review.question is None and review.answer is None else "corrected"
