"""What a retriever is: a row of the table, and what it is given to search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Ranking = list[int]
"""Places of chunks, the best first."""


class Corpus(NamedTuple):
    """The chunks of one cut and the questions that are searched in them.

    ``dense`` searches every question by cosine similarity, up to a depth; whoever does not call it needs no embeddings.
    """

    texts: Sequence[str]
    questions: Sequence[str]
    dense: Callable[[int], list[Ranking]]


@dataclass(frozen=True)
class Retriever:
    """A retriever: one row of the table.

    Attributes:
        name: the name on the command line.
        search: returns a ranking for each question of a corpus, at most so many chunks deep.
        embeds: whether it calls ``dense``, so that an embedder is part of it.
    """

    name: str
    search: Callable[[Corpus, int], list[Ranking]]
    embeds: bool = True
