"""Parsing and chunking must not take quadratic time: else one file stops a whole run."""

import gc
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from time import process_time
from typing import Any

import pytest
from foreign_files import pdf

from groundset.corpus.chunkers import CHUNKERS, ChunkingTools
from groundset.corpus.chunks import chunk_document
from groundset.corpus.parsing.html import parse_html, parse_tree
from groundset.corpus.parsing.markdown import heading_title, parse_markdown
from groundset.corpus.parsing.pdf import parse_pdf
from groundset.corpus.parsing.pdf_text import Line, Page, pages_to_markdown
from groundset.corpus.parsing.plain import parse_plain
from groundset.corpus.parsing.text import clean
from groundset.corpus.structure import sentence_spans
from programs.types import Document, Heading

Make = Callable[[int], Any]


def growth(run: Callable[[Any], object], make: Make, size: int) -> float:
    """Return how many times longer twice the size takes, by the best of one to eight runs of each."""
    best = dict.fromkeys((size, 2 * size), float("inf"))
    gc.collect()
    gc.disable()
    try:
        for number in range(8):
            for each in best:
                made = make(each)
                start = process_time()
                run(made)
                best[each] = min(best[each], process_time() - start)
            if best[2 * size] < (3 if number else 2.5) * best[size]:
                break
    finally:
        gc.enable()
    return best[2 * size] / best[size]


def repeat(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a function that makes a text of a given length by repetition."""
    return lambda size: before + piece * (size // len(piece)) + after


def markdown(piece: str, before: str = "", after: str = "") -> Callable[[int], Document]:
    @cache
    def make(size: int) -> Document:
        parsed = parse_markdown(repeat(piece, before, after)(size))
        return Document(
            doc_id="d",
            path="p",
            title=parsed.title or "",
            text=parsed.text,
            headings=tuple(parsed.headings),
            last_modified=datetime.now(UTC),
        )

    return make


def cut(document: Document, chunker: str = "recursive", size: int = 1000) -> None:
    chunk_document(document, CHUNKERS[chunker], size, 0, 1, 20, ChunkingTools())


@pytest.mark.parametrize("make", [repeat(" ", "a", "b"), repeat("\t", "a\n", "b")], ids=["spaces", "tabs"])
def test_cleaning(make: Make) -> None:
    assert growth(clean, make, 20_000) < 3


@pytest.mark.parametrize(
    "make",
    [repeat("<!-- a\n\n"), repeat("<a ", "<div>\n", "\n\ntext"), repeat("<? ")],
    ids=["comments", "tags", "instructions"],
)
def test_markdown(make: Make) -> None:
    assert growth(parse_markdown, make, 48_000) < 3


def test_heading_title() -> None:
    def make(size: int) -> tuple[str, list[Heading]]:
        return "x\n" * (3 * size), [Heading(level=2, text="a", start=6 * number + 2) for number in range(size)]

    assert growth(lambda made: heading_title(*made), make, 15_000) < 3


@pytest.mark.parametrize(
    ("make", "size"),
    [(repeat(" ", "==", "a"), 1_000), (repeat("#", "# a", "b"), 10_000), (repeat(" ", "# a", "b"), 10_000)],
    ids=["wiki", "marks", "spaces"],
)
def test_plain_text(make: Make, size: int) -> None:
    assert growth(parse_plain, make, size) < 3


@pytest.mark.parametrize("piece", ["`", "<?", "Mr. A. ", "«a ", "東京は日本の首都。"])
def test_sentences(piece: str) -> None:
    assert growth(sentence_spans, repeat(piece), 12_000) < 3


@pytest.mark.parametrize("piece", ["## Abc\n\n", "## Abc\n\nSome text that goes on.\n\n"], ids=["bare", "text"])
def test_headings(piece: str) -> None:
    assert growth(cut, markdown(piece), 100_000) < 3


@pytest.mark.parametrize(
    "piece",
    [
        "## Notes\n\n- Henn\n\n## Crew\n\nSome text that goes on here and there.\n\n",
        "Notes\n",
        ". . ",
        "1 . . . . 3\n",
        "- " * 50,
    ],
    ids=["sections", "names", "dots", "leaders", "items"],
)
def test_listings(piece: str) -> None:
    assert growth(cut, markdown(piece), 60_000) < 3


@pytest.mark.parametrize(
    ("piece", "before"),
    [
        ("| a | b |\n", "| a | b |\n|---|---|\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n", ""),
        ("## Abc\n\nTable 1: A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", ""),
        ("Table 1: A\n", ""),
        ("Figure 1: A\n\n![a](b)\n\n", ""),
        ("![", ""),
        ("|-", "|\n"),
    ],
    ids=["rows", "tables", "sections", "captions", "figures", "pictures", "dashes"],
)
@pytest.mark.parametrize("chunker", ["recursive", "word"])
def test_tables(piece: str, before: str, chunker: str) -> None:
    assert growth(lambda document: cut(document, chunker, 300), markdown(piece, before), 40_000) < 3


def test_heading_after_a_long_text() -> None:
    make = markdown("word ", "# Abc\n\n", "\n\n# Def\n\nEnd.")
    assert growth(lambda document: cut(document, "word", 10), make, 500_000) < 3


@pytest.mark.parametrize(
    "make",
    [
        repeat('<div class="nav">a'),
        repeat("<aside>a", f"<p>{'b ' * 20_000}</p>"),
        repeat("<a "),
        repeat("<meta "),
        repeat("<tr><td>abc</td></tr>", "<table><thead>", "</thead></table>"),
        repeat(" ", "<p>a", "b and some text"),
        repeat("<table><caption>a</caption><tr><td>b</td></tr></table>"),
        repeat("<caption>a</caption>", "<table><tr><td>b</td></tr>"),
    ],
    ids=["menus", "asides", "open tags", "encodings", "head of a table", "spaces", "tables", "captions"],
)
def test_html(make: Make) -> None:
    assert growth(lambda text: parse_html(text.encode()), make, 20_000) < 3


def test_long_html_list() -> None:
    make = repeat("<li>abc</li>", "<ol>", "</ol>")
    assert growth(lambda text: parse_html(text.encode()), make, 28_000) < 3


def test_extracting_html_elements() -> None:
    def extract(tree: Any) -> None:
        for part in tree.find_all("i"):
            part.extract()

    assert growth(extract, lambda size: parse_tree("<b>a</b><i>b</i>" * size), 4_000) < 3


@pytest.mark.parametrize(("shape", "size"), [("words", 500), ("frames", 300)])
def test_pdf_page_with_many_elements(shape: str, size: int) -> None:
    def make(size: int) -> bytes:
        places = [(number % 40 * 14 + 5, number // 40 * 9 + 5) for number in range(size)]
        words = b"".join(b"1 0 0 1 %d %d Tm (abc) Tj " % place for place in places)
        frames = b"".join(b"%d %d 3 3 re S " % place for place in places)
        return pdf(b"BT /F1 4 Tf %sET %s" % (words, frames if shape == "frames" else b""))

    assert growth(parse_pdf, make, size) < 3


@pytest.mark.parametrize("text", ["abc", "ab-"])
def test_pdf_lines(text: str) -> None:
    def make(size: int) -> list[Page]:
        line = Line(text=text, box=0, x0=0, x1=9, top=400, bottom=392, size=8, bold=False)
        return [Page(800, [line] * size, [])]

    assert growth(pages_to_markdown, make, 4_000) < 3
