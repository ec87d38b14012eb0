"""A review session: the items of one run or several in the order of review, and the log of their reviews."""

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
from groundset.store.items import Entry, Kind
from groundset.store.reviews import Review, ReviewTable
from groundset.store.run_store import RunStore
from programs.errors import InputError


class LogRow(NamedTuple):
    """A review and its number in the run; there are no reviews at 0."""

    number: int
    review: Review | None


class ListedItem(NamedTuple):
    """A sample or a reject to be reviewed.

    Attributes:
        run: the place of its run among those that are reviewed.
        entry: what is known of it.
        key: what addresses call it; it does not reveal the run.
    """

    run: int
    entry: Entry
    key: str


class ReviewLog:
    """The reviews of one kind of item of a run, as far as they were loaded.

    Attributes:
        latest: the last row of each reviewer for each item that was ever reviewed, taken back or not.
    """

    def __init__(self, table: ReviewTable, kind: Kind) -> None:
        """Begin with no row loaded."""
        self._table, self._kind = table, kind
        self._last = 0
        self._rows: dict[int, Review] = {}
        self.latest: dict[str, dict[str, LogRow]] = {}

    def row(self, number: int) -> Review | None:
        """Return the review of a number, or None."""
        return self._rows.get(number)

    def refresh(self) -> None:
        """Load the rows that were added by this process or another since the last time."""
        for number, review in self._table.after(self._last).items():
            self._last = number
            if review.kind == self._kind:
                self._rows[number] = review
                self.latest.setdefault(review.item, {})[review.reader] = LogRow(number, review)

    def add(self, reviews: Collection[Review]) -> None:
        """Store reviews, all or none, and load them."""
        if reviews:
            self._table.add(*reviews)
            self.refresh()

    def last_click(self, reviewer: str, items: Container[str]) -> tuple[datetime, str] | None:
        """Return when a reviewer clicked last about some items, and the name of that click, if it was not undone."""
        undone = set()
        for review in reversed(self._rows.values()):
            if review.reader == reviewer and review.undoes:
                undone.add(review.undoes)
            elif review.reader == reviewer and review.item in items and review.click and review.click not in undone:
                return review.read_at, review.click
        return None

    def undo(self, click: str) -> list[str]:
        """Restore what was there before a click, and return the items that it was about; none if it is undone."""
        if any(review.undoes == click for review in self._rows.values()):
            return []  # of a click on several runs, when one of them was reviewed alone: reviews have followed since
        undoing: dict[str, Review] = {}
        before: dict[tuple[str, str], Review] = {}
        for review in self._rows.values():
            key = review.item, review.reader
            if review.click == click:
                blank = Review(kind=review.kind, item=review.item, reader=review.reader, verdict=None)
                changes = {"click": None, "undoes": click, "read_at": datetime.now(UTC)}
                undoing[review.item] = before.get(key, blank).model_copy(update=changes)
            before[key] = review
        self.add(undoing.values())
        return list(undoing)


class ReviewSession:
    """The items that a reviewer goes through; one thread at a time may use it.

    What other processes add to the runs, samples as well as reviews, is there after :meth:`refresh`.

    Attributes:
        reviewer: who reviews.
        kind: what is reviewed.
        blind: whether nothing may reveal which run an item comes from; ends when the result was seen.
        names: what the page calls the runs.
        stores, logs: the runs, and the reviews of each.
        items: what is to be reviewed, in order.
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
        """Open the runs to be reviewed.

        ``steps`` leaves out the rejects of other steps. ``seed`` shuffles the items; without one they come in the order
        of the runs.

        Raises:
            InputError: a folder holds no run or cannot be written, a run is named twice, or there are no rejects of a
                step.
        """
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise InputError("a run is named twice; name each RUN once")
        self.reviewer, self.kind, self.blind = reviewer, kind, blind
        self.names = [str(folder) for folder in folders]
        self.items: list[ListedItem] = []
        self._seed, self._steps = seed, frozenset(steps)
        self._secret = secrets.token_hex()
        self._places: dict[str, int] = {}
        self._known: list[set[str]] = [set() for _ in folders]
        self._positions = [0 for _ in folders]
        with ExitStack() as stack:
            self.stores = [stack.enter_context(RunStore.review(folder)) for folder in folders]
            self.logs = [ReviewLog(store.reviews, kind) for store in self.stores]
            seen = self.refresh()
            for step in steps:
                if step not in seen:
                    there = f"choose of {', '.join(seen)}" if seen else "nothing was refused"
                    raise InputError(f"--step {step}: there are no rejects of that step; {there}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the runs."""
        self._stack.close()

    def refresh(self) -> list[str]:
        """Load what was added to the runs since the last time; return the steps that refused any of it."""
        found: list[ListedItem] = []
        seen: dict[str, None] = {}
        for run, store in enumerate(self.stores):
            entries = store.items.samples if self.kind == "sample" else store.items.rejects
            for entry in entries(self._positions[run]):
                self._positions[run] = entry.position
                seen[entry.step] = None
                if not self._steps or entry.step in self._steps:
                    found.append(ListedItem(run, entry, _digest(self._secret, run, entry)))
                    self._known[run].add(entry.item)
            self.logs[run].refresh()
        if found:
            self.items = sorted([*self.items, *found], key=self._order)
            self._places = {item.key: place for place, item in enumerate(self.items)}
        return list(seen)

    def item(self, key: str) -> ListedItem | None:
        """Return the item with an address key, or None."""
        place = self._places.get(key)
        return None if place is None else self.items[place]

    def place(self, item: ListedItem) -> int:
        """Return where an item stands, from 0."""
        return self._places[item.key]

    def latest(self, item: ListedItem) -> LogRow:
        """Return the reviewer's last review of an item, which may take a verdict back, with its number."""
        return self.logs[item.run].latest.get(item.entry.item, {}).get(self.reviewer, LogRow(0, None))

    def own(self, item: ListedItem) -> Review | None:
        """Return the reviewer's last review of an item, which may take a verdict back."""
        return self.latest(item).review

    def own_at(self, item: ListedItem, number: int | None) -> Review | None:
        """Return the reviewer's last review of an item when the log ended with a number; None asks for now."""
        current, own = self.latest(item)
        if own is None or number in (None, current):
            return own
        review = self.logs[item.run].row(number or 0)
        return review if review and (review.item, review.reader) == (own.item, own.reader) else None

    def others(self, item: ListedItem) -> list[Review]:
        """Return the verdicts of other reviewers on an item; none before the reviewer has given one.

        None when blind either: another reviewer may have reviewed one of the runs alone.
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
        """Return how many items there are in each state."""
        found = Counter(
            _state(rows[self.reviewer].review)
            for log, known in zip(self.logs, self._known, strict=True)
            for name, rows in log.latest.items()
            if self.reviewer in rows and name in known
        )
        found["unread"] += len(self.items) - found.total()
        return found

    def matching(self, wanted: Filter, places: Iterable[int] | None = None) -> Iterator[ListedItem]:
        """Yield the items that a filter asks for, of all or of those at some places, in that order."""
        states = STATES.get(wanted.state)
        for place in range(len(self.items)) if places is None else places:
            item = self.items[place]
            if (states is None or self.state(item) in states) and wanted.passes(self.names[item.run], item.entry):
                yield item

    def next(self, wanted: Filter, current: ListedItem | None) -> ListedItem | None:
        """Return what to review after an item: what is unread first, then what was skipped, from there round to it.

        What a filter by state asks for is gone through once, from start to end.
        """
        here = -1 if current is None else self.place(current)
        behind, before = range(here + 1, len(self.items)), range(max(here, 0))
        if wanted.state:
            return next(self.matching(wanted, behind), None)
        for state in ("unread", "skipped"):
            found = next(self.matching(replace(wanted, state=state), chain(behind, before)), None)
            if found:
                return found
        return None

    def previous(self, wanted: Filter, current: ListedItem) -> ListedItem | None:
        """Return the item before another one, among those that a filter asks for."""
        return next(self.matching(wanted, reversed(range(self.place(current)))), None)

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
        """Store a verdict, unless the same one is there already; return what another tab had stored meanwhile.

        ``question`` and ``answer`` are what the reviewer wrote in place of the text; ``seen`` is the number of the last
        row when the page was made, 0 for none, and None does not ask.
        """
        self.refresh()
        number, own = self.latest(item)
        before = own if seen is not None and number != seen else None
        review = {"verdict": verdict, "reason": reason, "question": question, "answer": answer}
        if not own or any(getattr(own, name) != value for name, value in review.items()):
            self._add([item], **review)
        return before

    def submit_all(self, items: Sequence[ListedItem], verdict: Literal["good", "bad"], reason: str | None) -> None:
        """Store one verdict for many items, as one click."""
        self._add(items, verdict=verdict, reason=reason)

    def skip(self, item: ListedItem) -> None:
        """Put an item off; a verdict that is there is left alone."""
        self.refresh()
        if self.state(item) == "unread":
            self._add([item], verdict=None, skipped=True)

    def undo(self) -> list[ListedItem]:
        """Take back the reviewer's last click about these items that was not undone; return the items of it."""
        self.refresh()
        found = (log.last_click(self.reviewer, known) for log, known in zip(self.logs, self._known, strict=True))
        clicks = [click for click in found if click]
        if not clicks:
            return []
        _, name = max(clicks)
        undone = [log.undo(name) for log in self.logs]
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
