"""What a page is made of: sections of figures, pictures and tables. Texts in them are escaped when they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Stated:
    """One figure.

    Attributes:
        name: what it is called.
        value: as it is read.
        n: what it rests on, such as "12 questions"; empty for what is counted and not measured.
        interval: the bounds of its 95 % interval; empty where it has none.
        meaning: what it says, in one sentence.
    """

    name: str
    value: str
    n: str = ""
    interval: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; ``title`` stands above it, cells after the first are set as numbers unless ``texts`` says otherwise."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawing with what it shows in words, and its numbers as a table."""

    title: str
    description: str
    svg: Markup
    table: Grid

    @property
    def element(self) -> Markup:
        """Return the drawing with its title and its description in it, for readers that cannot see it."""
        head, rest = self.svg.split(">", 1)
        return Markup("{}><title>{}</title><desc>{}</desc>{}").format(
            Markup(head),
            self.title,
            self.description,
            Markup(rest),
        )


@dataclass(frozen=True)
class PageSection:
    """One part of a page.

    Attributes:
        key: the name of its place on the page.
        title: its heading.
        about: what it is about, in a sentence or two.
        figures, pictures, tables: what it shows, in this order.
        notes: what to bear in mind, each a sentence or two.
    """

    key: str
    title: str
    about: str
    figures: Sequence[Stated] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Grid] = ()
    notes: Sequence[str] = ()
