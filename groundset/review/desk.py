"""What lies before a reader: the items of one run or several in the order of reading, and what was said of each."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from groundset.review.filters import STATES, Filter, State
from groundset.review.notebook import Click, Notebook, state_of
from groundset.store.pieces import Entry, Kind
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError


class Item(NamedTuple):
    """A sample or a reject that lies there.

    Attributes:
        run: the place of its run among those that are read.
        entry: what is known of it.
        key: what addresses call it; it tells nothing of the run.
    """

    run: int
    entry: Entry
    key: str


class Answered(NamedTuple):
    """What became of a click: whether a row was added, and what another tab had said since the page was made."""

    stored: bool
    before: Review | None


class Desk:
    """The items that a reader goes through; one thread at a time may use it.

    What other processes add to the runs, samples as well as reviews, is there after :meth:`refresh`.

    Attributes:
        reader: who reads.
        kind: what is read.
        blind: whether nothing may tell which run an item comes from; ends when the result was seen.
        names: what the page calls the runs.
        stores, notebooks: the runs, and what was said of each.
        items: what lies there, in order.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        reader: str,
        *,
        kind: Kind = "sample",
        steps: Collection[str] = (),
        seed: int | None = None,
        blind: bool = False,
    ) -> None:
        """Open the runs to be reviewed.

        Args:
            folders: of the runs.
            reader: a name of their own choosing.
            kind: samples or rejects.
            steps: of the rejects, only those of these steps.
            seed: shuffles the items; without one they come in the order of the runs.
            blind: hides where they come from.

        Raises:
            InputError: a folder holds no run or cannot be written, a run is named twice, or there are no rejects of a
                step.
        """
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise InputError("a run is named twice; name every RUN once")
        self.reader, self.kind, self.blind = reader, kind, blind
        self.names = [str(folder) for folder in folders]
        self.items: list[Item] = []
        self._seed, self._steps = seed, frozenset(steps)
        self._secret = secrets.token_hex()
        self._places: dict[str, int] = {}
        self._lying: set[tuple[int, str]] = set()
        self._reached = [0 for _ in folders]
        with ExitStack() as stack:
            self.stores = [stack.enter_context(RunStore.review(folder)) for folder in folders]
            self.notebooks = [Notebook(store.reviews, kind) for store in self.stores]
            seen = self.refresh()
            for step in steps:
                if step not in seen:
                    there = f"choose of {', '.join(seen)}" if seen else "nothing was refused"
                    raise InputError(f"--step {step}: there are no rejects of that step; {there}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the desk itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the runs."""
        self._stack.close()

    def refresh(self) -> list[str]:
        """Take up what was added to the runs since the last time; return the steps that refused any of it."""
        found: list[Item] = []
        seen: dict[str, None] = {}
        for run, store in enumerate(self.stores):
            entries = store.pieces.samples if self.kind == "sample" else store.pieces.rejects
            for entry in entries(self._reached[run]):
                self._reached[run] = entry.position
                seen[entry.step] = None
                if not self._steps or entry.step in self._steps:
                    found.append(Item(run, entry, self._digest(self._secret, run, entry)))
            self.notebooks[run].take_up()
        if found:
            self._lying |= {(item.run, item.entry.item) for item in found}
            self.items = sorted([*self.items, *found], key=self._order)
            self._places = {item.key: place for place, item in enumerate(self.items)}
        return list(seen)

    def item(self, key: str) -> Item | None:
        """Return the item that addresses call so, or None."""
        place = self._places.get(key)
        return None if place is None else self.items[place]

    def place(self, item: Item) -> int:
        """Return where an item lies, from 0."""
        return self._places[item.key]

    def own(self, item: Item) -> Review | None:
        """Return what the reader said last of an item, even if that takes a verdict back."""
        row = self.notebooks[item.run].items.get(item.entry.item, {}).get(self.reader)
        return row and row.review

    def number(self, item: Item) -> int:
        """Return the number of that row, 0 if there is none."""
        row = self.notebooks[item.run].items.get(item.entry.item, {}).get(self.reader)
        return row.number if row else 0

    def own_at(self, item: Item, number: int | None) -> Review | None:
        """Return what the reader's last word was when the row of that number stood; None asks for what stands now."""
        own = self.own(item)
        if own is None or number in (None, self.number(item)):
            return own
        review = self.notebooks[item.run].row(number or 0)
        return review if review and (review.item, review.reader) == (own.item, own.reader) else None

    def others(self, item: Item) -> list[Review]:
        """Return the verdicts of other readers on an item; none before the reader has given one.

        None when blind either: another reader may have read one of the runs alone.
        """
        own = self.own(item)
        if own is None or own.verdict is None or self.blind:
            return []
        found = self.notebooks[item.run].items[item.entry.item]
        return [row.review for name, row in sorted(found.items()) if name != self.reader and row.review.verdict]

    def state(self, item: Item) -> State:
        """Return what became of an item by this reader."""
        return state_of(self.own(item))

    def counts(self) -> Counter[State]:
        """Return how many items there are in each state."""
        found = Counter(
            state_of(rows[self.reader].review)
            for run, notebook in enumerate(self.notebooks)
            for name, rows in notebook.items.items()
            if self.reader in rows and (run, name) in self._lying
        )
        found["unread"] += len(self.items) - found.total()
        return found

    def matching(self, wanted: Filter, places: Iterable[int] | None = None) -> Iterator[Item]:
        """Yield the items that a filter asks for, of all or of those at some places, in that order."""
        states = STATES.get(wanted.state)
        for place in range(len(self.items)) if places is None else places:
            item = self.items[place]
            if (states is None or self.state(item) in states) and wanted.passes(self.names[item.run], item.entry):
                yield item

    def next(self, wanted: Filter, current: Item | None) -> Item | None:
        """Return what to read after an item: what is unread first, then what was skipped, from there round to it.

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

    def previous(self, wanted: Filter, current: Item) -> Item | None:
        """Return the item before another one, among those that a filter asks for."""
        return next(self.matching(wanted, reversed(range(self.place(current)))), None)

    def say(
        self,
        item: Item,
        verdict: Literal["good", "bad"],
        *,
        reason: str | None = None,
        question: str | None = None,
        answer: str | None = None,
        seen: int | None = None,
    ) -> Answered:
        """Store a verdict, unless the same one stands already.

        Args:
            item: what it is about.
            verdict: ``good`` signs, ``bad`` refuses.
            reason: why it is bad.
            question, answer: what the reader wrote in place of the text.
            seen: the number of the row that stood when the page was made, 0 for none; None does not ask.
        """
        self.refresh()
        own = self.own(item)
        before = own if seen is not None and self.number(item) != seen else None
        said = {"verdict": verdict, "reason": reason, "question": question, "answer": answer}
        if own and all(getattr(own, name) == value for name, value in said.items()):
            return Answered(False, before)
        self._add([item], **said)
        return Answered(True, before)

    def say_of_all(self, items: Sequence[Item], verdict: Literal["good", "bad"], reason: str | None) -> None:
        """Store one verdict for many items, as one click."""
        self._add(items, verdict=verdict, reason=reason)

    def skip(self, item: Item) -> None:
        """Put an item off; a verdict that stands is left alone."""
        self.refresh()
        if self.state(item) == "unread":
            self._add([item], verdict=None, skipped=True)

    def undo(self) -> list[Item]:
        """Take back the reader's last click about what lies here that was not undone; return the items of it."""
        self.refresh()
        lying: list[set[str]] = [set() for _ in self.notebooks]
        for run, name in self._lying:
            lying[run].add(name)
        found = (book.last_click(self.reader, items) for book, items in zip(self.notebooks, lying, strict=True))
        clicks = [click for click in found if click]
        if not clicks:
            return []
        last: Click = max(clicks)
        names = {(run, name) for run, notebook in enumerate(self.notebooks) for name in notebook.undo(last.name)}
        return [item for item in self.items if (item.run, item.entry.item) in names]

    def _add(self, items: Sequence[Item], **said: Any) -> None:
        told = {"kind": self.kind, "reader": self.reader, "blind": self.blind, "click": secrets.token_hex(8), **said}
        for run, notebook in enumerate(self.notebooks):
            notebook.add([Review(item=item.entry.item, **told) for item in items if item.run == run])

    def _order(self, item: Item) -> Any:
        if self._seed is None:
            return item.run, item.entry.position
        return self._digest(str(self._seed), item.run, item.entry)

    @staticmethod
    def _digest(secret: str, run: int, entry: Entry) -> str:
        return hashlib.blake2b(f"{secret}\0{run}\0{entry.item}".encode(), digest_size=8).hexdigest()
