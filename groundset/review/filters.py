"""Filters of items by facts, state, document and words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Literal, Self

from groundset.store.items import Entry

State = Literal["unread", "signed", "corrected", "refused", "skipped"]
# Names of state filters, and the states they include.
STATES: Mapping[str, tuple[State, ...]] = {
    "unread": ("unread",),
    "reviewed": ("signed", "corrected", "refused"),
    "signed": ("signed", "corrected"),
    "refused": ("refused",),
    "corrected": ("corrected",),
    "skipped": ("skipped",),
}
# Filterable facts and their labels.
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
    """Conditions on items; empty fields match everything.

    Attributes:
        run, step, evolution, asks, language, split: exact values of facts.
        document: substring of a document path.
        words: substring of the question or answer.
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
    def of(cls, parameters: Mapping[str, str], *, blind: bool) -> Self:
        """Parse query parameters, ignoring unknown ones and, if blind, those that could reveal runs."""
        names = ("words", "state") if blind else [field.name for field in fields(cls)]
        values = {name: parameters[name].strip() for name in names if name in parameters}
        if values.get("state") not in STATES:
            values.pop("state", None)
        return cls(**values)

    @property
    def query(self) -> dict[str, str]:
        """Return the query parameters of this filter."""
        return {name: value for name, value in asdict(self).items() if value}

    @cached_property
    def _facts(self) -> dict[str, str]:
        return {name: value for name, value in self.query.items() if name in FACTS}

    def matches(self, run: str, entry: Entry) -> bool:
        """Return whether an item matches, whatever its state."""
        if self.words and self.words.casefold() not in f"{entry.question}\n{entry.answer}".casefold():
            return False
        if self.document and not any(self.document.casefold() in path.casefold() for path in entry.documents):
            return False
        return all(value == fact(run, entry, name) for name, value in self._facts.items())


def fact(run: str, entry: Entry, name: str) -> str:
    """Return one of ``FACTS`` of an item."""
    return run if name == "run" else str(getattr(entry, name))


def choices(items: Iterable[tuple[str, Entry]]) -> dict[str, Counter[str]]:
    """Count the values of each fact, and of ``document``, that has more than one."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in (*FACTS, "document")}
    for run, entry in items:
        for name in FACTS:
            if value := fact(run, entry, name):
                counts[name][value] += 1
        counts["document"].update(entry.documents)
    return {name: values for name, values in counts.items() if len(values) > 1}
