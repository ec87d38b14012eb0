"""Parsing as in the child process: the result, and failures of third-party parsers."""

import zlib
from pathlib import Path
from typing import Any

import pytest
from foreign_files import archive, docx, pdf
from markitdown.converters import DocxConverter

from groundset.corpus.parsing import formats
from groundset.corpus.parsing.office import parse_office
from groundset.corpus.parsing.pdf import parse_pdf
from groundset.corpus.parsing.text import UnparsableError

TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"
PARAGRAPH = "<w:p><w:r><w:t>The mill was built by two brothers.</w:t></w:r></w:p>"
TYPE = '<!DOCTYPE w:styles [<!ENTITY e "a">]>'


def test_parse_file_returns_text_title_and_headings(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("# Mills\n\nThe mill was built in 1887.")
    assert formats.parse_file({"path": str(tmp_path / "a"), "suffix": ".md"}) == {
        "text": "# Mills\n\nThe mill was built in 1887.",
        "title": "Mills",
        "headings": [{"level": 1, "text": "Mills", "start": 0}],
        "pages": [],
        "captions": [],
    }


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "unreadable: permission denied"),
        (OSError(5, "Input/output error"), "unreadable: Input/output error"),
        (RecursionError(), "nested too deep"),
    ],
)
def test_parse_file_returns_the_error(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    def fail(self: Path) -> bytes:
        raise error

    monkeypatch.setattr(Path, "read_bytes", fail)
    assert formats.parse_file({"path": "a", "suffix": ".md"}) == {"refused": reason}


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_parsers_out_of_memory(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("markitdown.converters.DocxConverter.convert", fail)
    with pytest.raises(error):
        parse_office(docx("<w:p/>"), ".docx")
    monkeypatch.setattr("pdfplumber.pdf.PDFDocument", fail)
    with pytest.raises(error):
        parse_pdf(pdf(TEXT))


def test_pictures_of_an_archive_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = docx(PARAGRAPH)
    pictures = docx(PARAGRAPH, one=bytes(100 << 20), two=b"picture")
    sizes: list[int] = []
    convert = DocxConverter.convert

    def watch(self: DocxConverter, stream: Any, *arguments: object, **options: object) -> object:
        sizes.append(len(stream.getvalue()))
        return convert(self, stream, *arguments, **options)

    monkeypatch.setattr(DocxConverter, "convert", watch)
    assert parse_office(pictures, ".docx") == parse_office(bare, ".docx")
    assert max(sizes) < 10_000


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
@pytest.mark.parametrize("part", ["word/styles.xml", "customXml/item1.xml", "ppt/presentation.xml", "_rels/.rels"])
@pytest.mark.parametrize(
    "xml",
    [
        f"{TYPE}<a>&e;</a>".encode(),
        b"<?xml version='1.0'?>\n<!-- " + b"long " * 50_000 + f"-->{TYPE}<a/>".encode(),
        f"{TYPE}<a/>".encode("utf-16"),
    ],
    ids=["plain", "late", "wide"],
)
def test_office_document_with_a_doctype_is_skipped(suffix: str, part: str, xml: bytes) -> None:
    with pytest.raises(UnparsableError, match="declares an XML document type"):
        parse_office(archive({part: xml}), suffix)


def test_office_document_may_mention_doctype_in_its_text() -> None:
    text = PARAGRAPH.replace("The mill", "&lt;!DOCTYPE html&gt; <![CDATA[<!DOCTYPE a>]]>")
    assert "<!DOCTYPE html>" in parse_office(docx(text), ".docx").text


def test_page_with_many_text_boxes_is_read_from_top_to_bottom() -> None:
    words = b"".join(b"1 0 0 1 %d %d Tm (w%d) Tj " % (n % 20 * 28 + 20, 700 - n // 20 * 30, n) for n in range(400))
    text = parse_pdf(pdf(TEXT + b"BT /F1 4 Tf " + words + b"ET")).text
    assert text.split()[-400:] == [f"w{number}" for number in range(400)]


def test_stream_compressed_twice() -> None:
    twice = pdf(zlib.compress(TEXT), filters=b"[/Fl/Fl]")
    assert "two brothers" in parse_pdf(twice).text
