"""The interface of a public set of questions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from optimizers.gold import GoldRow
from programs.languages.table import Languages


@dataclass(frozen=True)
class PublicSet:
    """A public set of questions.

    Attributes:
        name: the prefix in ``--labels NAME:FILE``.
        rows: reads a file as gold rows with the set's licence; raises ``InputError`` if it has another format.
    """

    name: str
    rows: Callable[[Path, Languages], Iterator[GoldRow]]
