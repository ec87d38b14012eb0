"""HTML to a tree whose parts can be taken out in a time that grows with the page, not with its square."""

from itertools import count

from bs4 import BeautifulSoup, ParserRejectedMarkup, Tag
from bs4.element import CData, NavigableString, PageElement

from groundset.corpus.parsing.parsed import UnparsableError

_LONG_LIST = 1_000
_LONG_HEAD = 100


class _Finds:
    """Finds its children fast if they are looked for one after the other.

    Whatever takes a child out looks for it; from the first one each time, that takes hours on a large page.
    """

    contents: list[PageElement]
    _near = 0

    def index(self, element: PageElement) -> int:
        """Return the place of a child."""
        for step in count():
            above, below = self._near + step, self._near - step - 1
            if above >= len(self.contents) and below < 0:
                raise ValueError("no child of this element")
            for place in (above, below):
                if 0 <= place < len(self.contents) and self.contents[place] is element:
                    self._near = place
                    return place
        raise AssertionError


class _Element(_Finds, Tag):
    pass


class _Page(_Finds, BeautifulSoup):
    pass


def parse_tree(html: str) -> BeautifulSoup:
    """Parse HTML.

    Raises:
        UnparsableError: it is no HTML.
    """
    try:
        return _Page(_without_open_ends(html), "html.parser", element_classes={Tag: _Element})
    except ParserRejectedMarkup as error:
        raise UnparsableError("damaged html file") from error


def text_lengths(root: Tag) -> dict[int, int]:
    """Return how much text each element from ``root`` downwards holds, by its ``id``."""
    elements = [root, *root.find_all(True)]
    lengths = {id(element): sum(map(_text_length, element.contents)) for element in elements}
    for element in reversed(elements[1:]):
        lengths[id(element.parent)] += lengths[id(element)]
    return lengths


def _text_length(part: PageElement) -> int:
    # Neither comments, which are texts of another class, nor what an element within holds.
    return len(part) if isinstance(part, NavigableString) and type(part) in (NavigableString, CData) else 0


def split_long_lists(page: BeautifulSoup, root: Tag) -> None:
    """Split what the converter would number by counting from the first item each time; the numbers stay the same."""
    for long in root.find_all("ol"):
        items = [child for child in long.contents if isinstance(child, Tag) and child.name == "li"]
        first = str(long.get("start", ""))
        number = int(first) if first.isdecimal() else 1
        long["start"] = str(number)  # the converter takes ² for a number too, and fails
        for start in range((len(items) - 1) // _LONG_LIST * _LONG_LIST, 0, -_LONG_LIST):
            rest = page.new_tag("ol", attrs={"start": str(number + start)})
            rest.extend(long.contents[long.index(items[start]) :])
            long.insert_after(rest)
    for head in root.find_all("thead"):
        if len(head.find_all("tr", limit=_LONG_HEAD)) == _LONG_HEAD:
            head.name = "tbody"


def _without_open_ends(html: str) -> str:
    """Escape what opens a section or a tag that nothing closes; the parser would look for its end time and again."""
    for opening, closing in (("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">")):
        last = html.rfind(closing) + 1
        html = html[:last] + html[last:].replace(opening, opening.replace("<", "&lt;"))
    return html
