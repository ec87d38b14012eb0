"""Convert the main content of HTML pages to Markdown, without navigation, scripts and link addresses."""

import io
import re
import sys
import warnings
from itertools import count
from types import ModuleType
from typing import Any

from bs4 import BeautifulSoup, Comment, ParserRejectedMarkup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement

from groundset.corpus.parsing.markdown import heading_title, parse_markdown
from groundset.corpus.parsing.text import Parsed, UnparsableError, clean, decode

# markitdown's converters pass these to markdownify: no inline markup, and the first row of a table as its header.
MARKDOWN_OPTIONS = {
    "strip": ["a", "b", "em", "i", "img", "strong", "u"],
    "escape_underscores": False,
    "escape_asterisks": False,
    "escape_misc": False,
    "table_infer_header": True,
}
_NOISE = (
    "script, style, noscript, template, iframe, svg, canvas, object, embed,"
    "form, button, select, input, nav, dialog,"
    "[role=navigation], [role=search], [role=banner], [role=contentinfo], [role=dialog], [role=menu],"
    "[hidden], sup.reference, span.mw-editsection, body > header, body > footer,"
    "div#toc, div#sidebar, div#navbar, div#breadcrumbs, div#cookie-banner"
)
_NOISE_CLASS = re.compile(
    r"(?:^|[-_ ])(?:cookies?|consent|breadcrumbs?|nav(?:bar|box|igation)?|menu|sidebar|toc|share|social|"
    r"newsletter|advert(?:isement)?|noprint|skip-?link|pagination|pager|headerlink|anchor-link|site-?sub|print-?footer)"
    r"(?:[-_ ]|$)",
    re.IGNORECASE,
)
_CONTENT_TAGS = frozenset(
    {"html", "body", "main", "article", "code", "pre", "td", "tr", *map("h{}".format, range(1, 7))}
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
# Collapsed, because regular expressions of the converters take quadratic time on them.
_BLANKS = re.compile(r"[ \t]{1000,}")
_MAX_TITLE = 1_000
_HEAD = 1 << 18  # bytes; bs4 looks for a declared encoding in the first twentieth
_SITE_NAME = re.compile(r"\s+[|–—·»-]\s+[^|–—·»]*$")
# A <main> with a smaller share of the page's text is not the main content.
_MIN_MAIN = 0.3
# An element with a larger share of the page's text is not noise, whatever its class name.
_MAX_NOISE = 0.5
# Limits against quadratic time, because the process limit stops a 300 kB page only after a minute. An attack with open
# tags takes 0.8 s instead of more than 45 s, a harmless list of 25,000 items 4 s instead of 24 s.
_LONG_LIST = 1_000
_LONG_HEAD = 100


def parse_html(data: bytes) -> Parsed:
    """Parse a web page into Markdown, its title and its headings."""
    declared = EncodingDetector.find_declared_encoding(data[:_HEAD], is_html=True)
    text = _BLANKS.sub(" ", clean(decode(data, declared)))
    soup = parse_tree(text)
    page_title = " ".join(soup.title.get_text().split())[:_MAX_TITLE] if soup.title else ""
    root = soup.body or soup
    _drop_noise(root)
    content = _main_content(root)
    # Move asides to the end, so that their headings do not apply to the text that follows; the innermost first, so
    # that none is moved inside another.
    asides = [aside.extract() for aside in reversed(content.find_all("aside"))]
    content.extend(reversed(asides))
    split_long_lists(soup, content)
    captions = _captions(content)
    html = str(content)
    soup.decompose()  # frees memory, because the converter builds its own tree
    markdown = re.sub(r"\n{3,}", "\n\n", clean(html_to_markdown(html)))
    parsed = parse_markdown(markdown)
    title = heading_title(parsed.text, parsed.headings)
    return parsed._replace(title=title or _SITE_NAME.sub("", page_title) or None, captions=captions)


def html_to_markdown(html: str) -> str:
    """Convert HTML to Markdown."""
    convert = markitdown_converters().HtmlConverter().convert
    from markitdown import StreamInfo

    info = StreamInfo(mimetype="text/html", extension=".html", charset="utf-8")
    with warnings.catch_warnings():
        # It warns about the fallback to plain text for deeply nested pages.
        warnings.simplefilter("ignore")
        try:
            result = convert(io.BytesIO(html.encode()), info, **MARKDOWN_OPTIONS)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            # Third-party converters raise arbitrary exceptions for malformed pages.
            raise UnparsableError(f"it cannot be converted ({type(error).__name__})") from error
    return str(result.markdown)


def _drop_noise(root: Tag) -> None:
    for comment in root.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for element in root.select(_NOISE):
        element.decompose()
    lengths = text_lengths(root)
    dropped: set[int] = set()
    for element in root.find_all(_is_noise):
        if id(element) not in dropped and lengths[id(element)] <= _MAX_NOISE * lengths[id(root)]:
            dropped.update(map(id, element.find_all(True)))
            element.decompose()


def _is_noise(element: Tag) -> bool:
    # Ids are ignored: they are often made from headings ("cookies").
    classes = " ".join(filter(None, element.get_attribute_list("class")))
    hidden = _HIDDEN.search(str(element.get("style") or ""))
    return element.name not in _CONTENT_TAGS and bool(hidden or _NOISE_CLASS.search(classes))


def _main_content(root: Tag) -> Tag:
    """Return the page's only ``<main>`` or ``<article>``, or the whole page if that contains too little text."""
    total = len(root.get_text())
    if not total:
        raise UnparsableError("no text")
    for selector in ("main, [role=main]", "article"):
        found = root.select(selector)
        if len(found) == 1 and len(found[0].get_text()) >= _MIN_MAIN * total:
            return found[0]
    return root


def _captions(root: Tag) -> list[str]:
    """Return the captions of tables and figures; those of tables become paragraphs before them.

    Inside a table without a head, the converter would not make the first row its header.
    """
    found = root.find_all(["caption", "figcaption"])
    for caption in found:
        if caption.name == "caption" and (table := caption.find_parent("table")):
            caption.name = "p"
            table.insert_before(caption.extract())
    return list(filter(None, (" ".join(caption.get_text().split()) for caption in found)))


class _FastIndex:
    """Mixin that makes looking up children in order fast; bs4 searches from the first child, in quadratic time."""

    contents: list[PageElement]
    _near = 0

    def index(self, element: PageElement) -> int:
        """Return the position of a child, searching outwards from the previous result."""
        for step in count():
            above, below = self._near + step, self._near - step - 1
            if above >= len(self.contents) and below < 0:
                raise ValueError("no child of this element")
            for place in (above, below):
                if 0 <= place < len(self.contents) and self.contents[place] is element:
                    self._near = place
                    return place
        raise AssertionError


class _Element(_FastIndex, Tag):
    pass


class _Page(_FastIndex, BeautifulSoup):
    pass


def parse_tree(html: str) -> BeautifulSoup:
    """Parse HTML.

    Raises:
        UnparsableError: the markup is invalid.
    """
    try:
        return _Page(_escape_unclosed(html), "html.parser", element_classes={Tag: _Element})
    except ParserRejectedMarkup as error:
        raise UnparsableError("damaged html file") from error


def text_lengths(root: Tag) -> dict[int, int]:
    """Return the length of the text in ``root`` and each of its descendants, by ``id(element)``."""
    elements = [root, *root.find_all(True)]
    lengths = {id(element): sum(map(_text_length, element.contents)) for element in elements}
    for element in reversed(elements[1:]):
        lengths[id(element.parent)] += lengths[id(element)]
    return lengths


def _text_length(part: PageElement) -> int:
    # Excludes nested elements and comments (subclasses of NavigableString).
    return len(part) if isinstance(part, NavigableString) and type(part) in (NavigableString, CData) else 0


def split_long_lists(page: BeautifulSoup, root: Tag) -> None:
    """Split long lists, which the converter numbers in quadratic time; the numbers stay the same."""
    for long in root.find_all("ol"):
        items = [child for child in long.contents if isinstance(child, Tag) and child.name == "li"]
        first = str(long.get("start", ""))
        number = int(first) if first.isdecimal() else 1
        long["start"] = str(number)  # the converter fails for digits such as ²
        for start in range((len(items) - 1) // _LONG_LIST * _LONG_LIST, 0, -_LONG_LIST):
            rest = page.new_tag("ol", attrs={"start": str(number + start)})
            rest.extend(long.contents[long.index(items[start]) :])
            long.insert_after(rest)
    for head in root.find_all("thead"):
        if len(head.find_all("tr", limit=_LONG_HEAD)) == _LONG_HEAD:
            head.name = "tbody"


def _escape_unclosed(html: str) -> str:
    """Escape unclosed sections and tags, which the parser handles in quadratic time."""
    for opening, closing in (("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">")):
        last = html.rfind(closing) + 1
        html = html[:last] + html[last:].replace(opening, opening.replace("<", "&lt;"))
    return html


def markitdown_converters() -> Any:
    """Import markitdown's converters, which takes a second, without the slow magika that they do not need."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters
