"""Convert the main content of HTML pages to Markdown, without navigation, scripts and link
addresses.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count, product, takewhile
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from groundset.corpus.parsing import Parsed, UnparsableError, clean, decode, left_out_line
from groundset.corpus.parsing.markdown import parse_converted, script_of
from groundset.programs.text import one_line
from groundset.programs.words import word_list

# No inline markup, and the first row of a table is its header.
MARKDOWN_OPTIONS: dict[str, Any] = {
    "strip": ["a", "b", "em", "i", "img", "strong", "u"],
    "escape_underscores": False,
    "escape_asterisks": False,
    "table_infer_header": True,
}
_NEVER_SHOWN = (
    "script, style, noscript, template, iframe, svg, canvas, object, embed, select, input, textarea"
)
# What is around the content of a page: the first whatever is in it, the second unless it has
# running text.
_FURNITURE = (
    "dialog, [role=dialog], [role=contentinfo], body > footer, sup.reference, span.mw-editsection"
)
_NOISE = (
    "nav, [role=navigation], [role=search], [role=banner], [role=menu], body > header,"
    "div#toc, div#sidebar, div#navbar, div#breadcrumbs"
)
# Banners that ask for consent: those of vendors, by class or id, and what has such a class, or an
# id that names it a banner, and offers something.
_VENDOR = re.compile(
    r"(?:^| )(?:onetrust|ot-sdk|cybot|usercentrics|didomi|qc-cmp|sp_message|"
    r"trust(?:e|arc)[-_]|iubenda|klaro|cookiefirst|cky-|cmplz|borlabs|termly|osano|cc-(?:window|banner|revoke)|cookie-?law-|"
    r"moove_gdpr|tarteaucitron|axeptio|cookiehub|cookiescript|fc-consent|hs-eu-cookie|cmpbox|"
    r"cookieconsent|shopify-pc)",
    re.IGNORECASE,
)
_BANNER = re.compile(
    r"(?:^|[-_ ])(?:cookies?|consent|gdpr|newsletter|advert(?:isement)?)(?:[-_ ]|$)", re.IGNORECASE
)
_BANNER_ID = re.compile(
    r"(?:cookies?|consent|gdpr|privacy)[-_]?(?:\w+[-_])?"
    r"(?:banner|bar|notice|popup|modal|dialog|overlay|box|message|consent|manager|disclaimer)",
    re.IGNORECASE,
)
_BUTTON = "button, [role=button], a[class*=btn], a[class*=button]"
_OFFER = re.compile(
    r"a[ck]+[cz]?ept|browser|privacy|subscri|sign up|agree|allow|got it|^ok$|sponsor|verwende|"
    r"zustimm|abonn|acept|suscr|aceit|accett|souhlas|zgadza|godkänn|hyväksy|elfogad|принять|соглас|同意|接受",
    re.IGNORECASE,
)
_NOISE_CLASS = re.compile(
    r"(?:^|[-_"
    r" ])(?:breadcrumbs?|nav(?:bar|box|igation)?|menu|sidebar|toc|share|social|noprint|"
    r"skip-?link|pagination|"
    r"pager|headerlink|anchor-link|site-?sub|print-?footer)(?:[-_ ]|$)",
    re.IGNORECASE,
)
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_CONTENT = word_list("html body main article code pre td tr").union(_HEADINGS)
# The headings of accordions, which show what is below.
_OPENING = re.compile(r"h\d|summary|dt|button")
_HIDDEN = "[hidden], [aria-hidden=true], [style*='display:none' i], [style*='display: none' i]"
_SHOWING = f"[aria-expanded], [aria-controls], :has(+ :is({_HIDDEN}))"  # buttons of panels
_PANEL = re.compile(r"panel|pane\b|tab|accordion|collaps|answer|faq|toggle", re.IGNORECASE)
_INLINE = word_list("a b em i small span strong")
# Text, not entries of a menu: a long line, or a sentence.
_RUNNING = re.compile(r"\S.{79}|(?:[\w%’'-]+[,;:]? ){3,}[\w%’'()-]+[.!?]|[^\W\d\s]{8,}[。！？]")
# Collapsed, because patterns of the converter take quadratic time on them.
_BLANKS = re.compile(r"[ \t]{1000,}")
_HEAD = 1 << 18  # bytes; bs4 looks for a declared encoding in the first twentieth
_SITE_NAME = re.compile(r"\s+[|–—·»-]\s+[^|–—·»]*$")
_MIN_MAIN = 0.3  # of the page's text; a <main> with less is not the main content
_MAX_NOISE = 0.5  # of the page's text; an element with more is not noise, whatever its class name
_MAX_OFFER = 500  # characters of a banner
_RAISED = (
    "sup, sub, [style*='vertical-align:super'], [style*='vertical-align: super'], a.footnote-ref,"
    " a[role=doc-noteref]"
)
# Of what Confluence shows without a text of its own, the first that it has.
_NAMES = [
    *("ri:content-title", "ri:filename", "ri:username", "ri:account-id", "ri:userkey"),
    *("ac:emoji-fallback", "ac:name", "datetime"),
]
_UNSEEN = ["ac:parameter", "ac:task-id", "ac:placeholder", "ac:adf-attribute", "ac:adf-fallback"]
_SHOWN_AS = {
    "ac:plain-text-body": "pre",
    "ac:task-list": "ul",
    "ac:task": "li",
    "ac:task-body": "span",
}
_TEX = {"msup": "%s^{%s}", "msub": "%s_{%s}", "msubsup": "%s_{%s}^{%s}", "mfrac": r"\frac{%s}{%s}"}
_ELEMENTS = (
    r"p|div|span|ul|ol|li|table|tr|td|th|h[1-6]|strong|b|em|i|u|a|code|pre|blockquote|section|article|"
    r"figure|img|br|hr|ac:[\w-]+"
)
_OPENING_TAG = re.compile(rf"\s*<(?:{_ELEMENTS})\b[^<>]*>", re.IGNORECASE)
_CLOSING_TAG = re.compile(rf"</(?:{_ELEMENTS})>|<br ?/?>", re.IGNORECASE)
_MIN_BLOCK = 80  # characters of a paragraph in a cell that lays out a page
_CELLS = ["td", "th"]
_MAX_SPAN, _MAX_CELLS = 1_000, 100_000  # rows or columns of a cell; cells of a table


def parse_html(data: bytes) -> Parsed:
    """Parse a web page into Markdown, its title and its headings.

    Raises:
        UnparsableError: it has no text.
    """
    declared = EncodingDetector.find_declared_encoding(data[:_HEAD], is_html=True)
    soup = _soup(decode(data, declared))
    page_title = one_line(soup.title.get_text())[:1000] if soup.title else ""
    root = soup.body or soup
    left_out = _drop_noise(root)
    content = _main_content(root)
    if content is not root:
        content.extract()
        left_out.append(left_out_line("outside the main part", [root.get_text(" ")]))
    # Asides move to the end, so that their headings do not apply to the text that follows; the
    # innermost first, so that none is moved inside another.
    content.extend([aside.extract() for aside in reversed(content.find_all("aside"))][::-1])
    markdown, captions = to_markdown(content)
    parsed = parse_converted(markdown)
    title = parsed.title or _SITE_NAME.sub("", page_title) or None
    return parsed._replace(title=title, captions=captions, left_out=list(filter(None, left_out)))


def _soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(_BLANKS.sub(" ", clean(text)), "html.parser")


def shown_field(text: str, level: int) -> str:
    """Return a field of a record as Markdown if it is HTML, with its headings below those of a
    level.
    """
    if not is_html(text):
        return text
    root = _soup(text)
    _drop_noise(root)
    for heading in root.find_all(_HEADINGS):
        heading.name = f"h{min(int(heading.name[1]) + level, 6)}"
    return to_markdown(root)[0]


def is_html(text: str) -> bool:
    """Return whether a field is HTML: it has tags, and no code of Markdown that may be about
    them.
    """
    opening = _OPENING_TAG.match(text)
    return bool(opening or ("`" not in text and _CLOSING_TAG.search(text)))


def to_markdown(root: Tag) -> tuple[str, list[str]]:
    """Convert an element to Markdown, and return the captions of its tables and figures as well; it
    is changed.
    """
    captions = prepared(root)
    try:
        markdown = MarkdownConverter(heading_style="atx", **MARKDOWN_OPTIONS).convert_soup(root)
    except RecursionError:  # nested too deep
        markdown = root.get_text("\n")
    return re.sub(r"\n{3,}", "\n\n", clean(markdown)), captions


def prepared(root: Tag) -> list[str]:
    """Rewrite what the converter would lose: formulas, raised digits and cells that span others;
    return captions.
    """
    _show_macros(root)
    for formula in root.find_all("math"):
        formula.replace_with(_tex(formula))
    for numbered in root.find_all("ol", start=lambda start: start and not start.isdecimal()):
        del numbered["start"]  # the converter fails for digits such as ²
    for raised in root.select(_RAISED):
        _set_script(raised)
    captions = root.find_all(["caption", "figcaption"])
    for caption in captions:
        # A paragraph before the table: inside, the converter would not make the first row the
        # header.
        if caption.name == "caption" and (table := caption.find_parent("table")):
            caption.name = "p"
            table.insert_before(caption.extract())
    named = [one_line(caption.get_text()) for caption in captions]
    for table in root.find_all("table"):
        _straighten(table)
    return list(filter(None, named))


def _show_macros(root: Tag) -> None:
    """Turn Confluence's storage format into HTML: what its macros show, and nothing of their
    settings.
    """
    for title in root.find_all("ac:parameter", {"ac:name": "title"}):
        macro = title.find_parent("ac:structured-macro", {"ac:name": "status"})
        title.name = "span" if macro else "p"
    for unseen in root.find_all(_UNSEEN):
        unseen.decompose()
    for status in root.find_all("ac:task-status"):
        status.replace_with("[x] " if status.get_text(strip=True) == "complete" else "[ ] ")
    for part in root.find_all(list(_SHOWN_AS)):
        part.name = _SHOWN_AS[part.name]
    for link in root.find_all(["ac:link", "ac:emoticon", "time"]):
        target = link.find(re.compile("^ri:")) or link
        named = (target.get(name) for name in _NAMES)
        if not link.get_text(strip=True) and (text := next(filter(None, named), "")):
            link.replace_with(f"@{text}" if target.name == "ri:user" else str(text))


def _tex(formula: Tag) -> str:
    """Return the TeX of a formula: its annotation, or made of the elements that its characters
    alone would not show.
    """
    source = formula.find("annotation", encoding="application/x-tex")
    for part in [] if source else reversed(formula.find_all(list(_TEX))):
        inside = tuple(
            each.get_text(" ", strip=True) for each in part.find_all(True, recursive=False)
        )
        if len(inside) == _TEX[part.name].count("%s"):
            part.replace_with(_TEX[part.name] % inside)
    return f"${(source or formula).get_text(' ', strip=True)}$"


def _drop_noise(root: Tag) -> list[str]:
    """Drop what is no content, and name what of it readers would see."""
    for source in root.select("script[type^='math/tex']"):
        source.replace_with(f"${source.get_text().strip()}$")
        for drawn in root.select("[class^=MathJax]"):
            drawn.extract()
    for drawn in root.select(".katex-html, mjx-math"):
        if drawn.parent and drawn.parent.find("math"):
            drawn.extract()
        del drawn["aria-hidden"]
    comments = root.find_all(string=lambda text: isinstance(text, Comment))
    for part in (*comments, *root.select(_NEVER_SHOWN)):
        part.extract()
    banners = {id(element) for element in root.find_all(_is_banner)} | set(map(id, _asking(root)))
    for button in root.find_all("button"):
        classes = " ".join(map(_classes, (button, *button.find_parents(limit=1))))
        if button.find_parent(["p", "li", "td", "dd", "dt", "summary", *_HEADINGS]):
            button.unwrap()
        elif not (button.css.match(_SHOWING) or _PANEL.search(classes)):
            button.decompose()
    most = _MAX_NOISE * len(root.get_text())
    controlled = {str(each["aria-controls"]) for each in root.select("[aria-controls]")}
    titles = root.find_all("h1", limit=2)
    dropped: dict[str, list[str]] = {}
    for element in root.find_all(True):
        if element.decomposed or element.name in _CONTENT:
            continue
        is_noise = element.css.match(_FURNITURE) or _is_noise(element, controlled)
        is_part = len(element.get_text()) <= most and not (len(titles) == 1 and element.find("h1"))
        if id(element) in banners or (is_noise and is_part):
            name = ".".join([element.name, *_classes(element).split(" ")[:1]]).rstrip(".")
            dropped.setdefault(name, []).append(element.get_text(" "))
            element.decompose()
    for opening in root.find_all(["button", "summary"]):
        opening.name = "p"
    return [left_out_line(name, texts) for name, texts in dropped.items()]


def _classes(element: Tag) -> str:
    return " ".join(filter(None, element.get_attribute_list("class")))


def _is_banner(element: Tag) -> bool:
    classes, name = _classes(element), str(element.get("id") or "")
    if _VENDOR.search(f"{classes} {name}"):
        return not element.find(["main", "article"])
    # The id of a section is made of its heading.
    is_named = _BANNER.search(classes) or (element.name != "section" and _BANNER_ID.match(name))
    text = element.get_text(" ", strip=True) if is_named else ""
    return len(text) <= _MAX_OFFER and bool(_OFFER.search(text))


def _asking(root: Tag) -> Iterator[Tag]:
    """Yield what asks for cookies and has a button to accept them, outside the main part."""
    for button in root.select(_BUTTON):
        if _OFFER.search(button.get_text()) and not button.find_parent(["main", "article"]):
            around = (part for part in button.parents if "cookie" in part.get_text().lower())
            inner = next(around, root)
            if inner.name not in _CONTENT and len(inner.get_text()) <= _MAX_OFFER:
                yield inner


def _is_noise(element: Tag, controlled: Collection[str]) -> bool:
    """Return whether an element is no content; whatever has running text is, and so are panels and
    menus of dishes.
    """
    classes, is_hidden = _classes(element), element.css.match(_HIDDEN)
    is_banner = _BANNER.search(classes)
    is_named = is_banner or _NOISE_CLASS.search(classes)
    if not (is_named or is_hidden or element.css.match(_NOISE)):
        return False
    texts = element.find_all(string=True)
    own = " ".join(text.strip() for text in texts if not text.find_parent("a"))
    if _RUNNING.search(own):
        return False
    is_unlinked = len(own) > sum(len(link.get_text()) for link in element.find_all("a"))
    if is_banner or not is_hidden:
        return not (is_unlinked and "menu" in classes.lower())
    above = element.find_previous_sibling()
    return element.name in _INLINE or not (
        _PANEL.search(f"{classes} {element.get('role')}")
        or element.get("id") in controlled
        or (above and _OPENING.match(above.name))
        or (is_unlinked and element.find(["p", "li", "table", "dd", *_HEADINGS]))
    )


def _main_content(root: Tag) -> Tag:
    """Return the page's only ``<main>`` or ``<article>``, or the whole page if that contains too
    little text.
    """
    total = len(root.get_text())
    if not total:
        raise UnparsableError("no text")
    for selector in ("main, [role=main]", "article"):
        found = root.select(selector)
        if len(found) == 1 and len(found[0].get_text()) >= _MIN_MAIN * total:
            return found[0]
    return root


def _set_script(raised: Tag) -> None:
    """Write raised and lowered digits as such, so that they do not join the number before; marks of
    notes go apart.
    """
    text, is_sup = raised.get_text().strip(), raised.name != "sub"
    is_note = raised.name == "a" or raised.find("a") or raised.find_parent("a")
    if is_sup and is_note and (mark := re.fullmatch(r"[\d*†‡]+(?:[,–-] ?\d+)*|[a-z]", text)):
        raised.replace_with(f" [{mark[0]}]")
    elif raised.name == "a":
        return
    elif shown := script_of(text, str(raised.find_previous(string=True) or ""), is_sup=is_sup):
        raised.replace_with(shown)


def _straighten(table: Tag) -> None:
    """Give each row and column its own cell, below all its headers; turn tables that lay out a page
    into paragraphs.
    """
    rows = table.find_all("tr")
    if _lays_out(table, rows):
        for part in table.find_all(["tbody", "thead", "tr", *_CELLS]):
            part.name = "div" if part.find_parent("table") is table else part.name
        table.name = "div"
        return
    for string in table.find_all(string=lambda string: "|" in string):
        string.replace_with(string.replace("|", "\\|"))
    marked = list(takewhile(lambda row: row.find_parent("thead") or not row.find("td"), rows[:-1]))
    # The first row may be a header without being marked as one; if it spans columns, the next ones
    # belong to it.
    spans = [_span(cell, "rowspan") for cell in rows[0].find_all(_CELLS, recursive=False)]
    spanned = max(spans, default=0) if rows[0].select("[colspan]") else 0
    heads = len(marked) or min(spanned, len(rows) - 1)
    if not (grid := _grid(rows)):
        return
    for column, head in grid[0].items() if heads > 1 else ():
        texts = [line[column].get_text(" ", strip=True) for line in grid[:heads] if column in line]
        head.string = " ".join(filter(None, dict.fromkeys(texts)))
    # Rows of their own: white space, sections and dropped rows between them would tear the table.
    table.clear()
    for line in [grid[0], *grid[max(1, heads) :]]:
        row = Tag(name="tr")
        row.extend([line[column] for column in sorted(line)])
        table.append(row)


def _lays_out(table: Tag, rows: Sequence[Tag]) -> bool:
    """Return whether a table lays out a page: it has headings or paragraphs in it, or no columns or
    rows.
    """
    if table.find("table") or table.get("role") in ("presentation", "none") or len(rows) < 2:
        return True
    blocks = () if table.find("th") else table.select("td h1, td h2, td h3, td h4, td p + p")
    has_blocks = any(block.name != "p" or len(block.get_text()) >= _MIN_BLOCK for block in blocks)
    return has_blocks or all(len(row.find_all(_CELLS)) < 2 for row in rows)


def _grid(rows: Sequence[Tag]) -> list[dict[int, Tag]]:
    """Return the cells of each row by their columns, with copies of those that span others; nothing
    if they are too many.
    """
    grid: list[dict[int, Tag]] = [{} for _ in rows]
    size = 0
    for number, row in enumerate(rows):
        free = (column for column in count() if column not in grid[number])
        for cell, first in zip(row.find_all(_CELLS, recursive=False), free, strict=False):
            height, width = min(_span(cell, "rowspan"), len(rows) - number), _span(cell, "colspan")
            if (size := size + height * width) > _MAX_CELLS:
                return []
            del cell["colspan"]
            for down, right in product(range(height), range(width)):
                copy = Tag(name="td")
                if down or not number or cell.name == "th":
                    copy.string = cell.get_text(" ", strip=True)
                grid[number + down][first + right] = copy if down or right else cell
    return grid


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "")[:9]
    return min(int(value), _MAX_SPAN) or 1 if value.isascii() and value.isdecimal() else 1
