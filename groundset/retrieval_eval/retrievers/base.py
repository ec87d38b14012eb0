"""The row of the table of retrievers, and the task that a retriever is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Ranking = list[int]
"""Indexes of chunks, best first."""


class SearchTask(NamedTuple):
    """Texts of chunks, and questions to search for.

    ``dense`` searches for every question by cosine similarity down to a depth, and embeds the chunks when it is called.
    """

    texts: Sequence[str]
    questions: Sequence[str]
    dense: Callable[[int], list[Ranking]]


@dataclass(frozen=True)
class RetrieverKind:
    """A retriever: one row of the table.

    Attributes:
        name: the name on the command line.
        search: returns a ranking for each question, down to a depth.
        embeds: whether it calls ``dense``, and so depends on an embedder.
    """

    name: str
    search: Callable[[SearchTask, int], list[Ranking]]
    embeds: bool = True
