"""What a public set of questions is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from optimizers.gold import GoldRow
from programs.languages.table import Languages


@dataclass(frozen=True)
class PublicSet:
    """One row of the table.

    Attributes:
        name: what stands before the colon of ``--labels NAME:FILE``.
        rows: reads a file of the set, given what is known of languages, into rows with the set's licence; raises
            ``InputError`` for another form.
    """

    name: str
    rows: Callable[[Path, Languages], Iterator[GoldRow]]
