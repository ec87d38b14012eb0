"""Which items a reviewer wants to see: by facts about them, by their state, by words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Literal, Self

from groundset.store.items import Entry

State = Literal["unread", "signed", "corrected", "refused", "skipped"]
# What can be asked for, and the states that it stands for.
STATES: Mapping[str, tuple[State, ...]] = {
    "unread": ("unread",),
    "reviewed": ("signed", "corrected", "refused"),
    "signed": ("signed", "corrected"),
    "refused": ("refused",),
    "corrected": ("corrected",),
    "skipped": ("skipped",),
}
# Facts to filter by, and what the page calls them.
FACTS: Mapping[str, str] = {
    "run": "Run",
    "step": "Refused by",
    "evolution": "Evolution",
    "asks": "Asks for",
    "language": "Language",
    "split": "Split",
}


@dataclass(frozen=True)
class Filter:
    """What an item must be; an empty field asks nothing.

    Attributes:
        run, step, evolution, asks, language, split: the fact of this name is exactly this.
        document: part of the path of one of its documents.
        words: part of its question or answer.
        state: a name of ``STATES``.
    """

    run: str = ""
    step: str = ""
    evolution: str = ""
    asks: str = ""
    language: str = ""
    split: str = ""
    document: str = ""
    words: str = ""
    state: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str], *, blind: bool) -> Self:
        """Return the filter of an address; what it does not know is left out, and when blind whatever reveals runs."""
        names = ("words", "state") if blind else [field.name for field in fields(cls)]
        found = {name: given[name].strip() for name in names if name in given}
        if found.get("state") not in STATES:
            found.pop("state", None)
        return cls(**found)

    @property
    def query(self) -> dict[str, str]:
        """Return what is asked for, for an address."""
        return {name: value for name, value in asdict(self).items() if value}

    @cached_property
    def _facts(self) -> dict[str, str]:
        return {name: value for name, value in self.query.items() if name in FACTS}

    def passes(self, run: str, entry: Entry) -> bool:
        """Return whether an item has the facts and the words that are asked for."""
        if self.words and self.words.casefold() not in f"{entry.question}\n{entry.answer}".casefold():
            return False
        if self.document and not any(self.document.casefold() in path.casefold() for path in entry.documents):
            return False
        return all(value == fact(run, entry, name) for name, value in self._facts.items())


def fact(run: str, entry: Entry, name: str) -> str:
    """Return a fact of ``FACTS`` about an item."""
    return run if name == "run" else str(getattr(entry, name))


def choices(items: Iterable[tuple[str, Entry]]) -> dict[str, Counter[str]]:
    """Return for each fact that differs between items how many there are of each value; ``document`` among them."""
    found: dict[str, Counter[str]] = {name: Counter() for name in (*FACTS, "document")}
    for run, entry in items:
        for name in FACTS:
            if value := fact(run, entry, name):
                found[name][value] += 1
        found["document"].update(entry.documents)
    return {name: counts for name, counts in found.items() if len(counts) > 1}
