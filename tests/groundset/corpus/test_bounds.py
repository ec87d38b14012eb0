"""What one file may cost: it is skipped with a reason, and the others are read."""

import random
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from markitdown.converters import DocxConverter

from groundset.corpus import archives, bounds, documents, html_tree, pdf_pages
from groundset.corpus.corpus import build_corpus
from groundset.corpus.documents import read_document, read_documents
from groundset.corpus.files import FoundFile, find_documents
from groundset.corpus.office import parse_office
from groundset.corpus.parsed import UnparsableError
from groundset.corpus.pdf import parse_pdf

Make = Callable[..., bytes]

GOOD = "The mill was built by two brothers in 1887. " * 10
TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"
# A command as its own process that may not take more than this; what is imported is most of it.
MEMORY = 1_500 << 20
CHUNK = f"""
import resource
import sys
from groundset.cli import main
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
main(["chunk", sys.argv[1], "--out", sys.argv[2]])
"""


def skipped(folder: Path, name: str, data: bytes) -> str:
    (folder / "good.md").write_text(GOOD)
    (folder / name).write_bytes(data)
    reading = read_documents(find_documents([folder]).files)
    assert [document.path for document in reading.documents] == ["good.md"]
    assert [file.path for file in reading.skipped] == [name]
    return reading.skipped[0].reason


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to a limit of memory")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bomb.docx", r"unpacks to \d+ times its size"),
        ("deep.html", "more than 10,000 HTML tags inside each other"),
        ("full.pdf", "more than 200,000 letters and lines on a page"),
        ("stream.pdf", "a part of it unpacked larger than 32 MB"),
    ],
)
def test_a_process_survives(tmp_path: Path, make_docx: Make, make_pdf: Make, name: str, reason: str) -> None:
    made: dict[str, Callable[[], bytes]] = {
        "bomb.docx": lambda: make_docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 800_000),
        "deep.html": lambda: b"<div>a" * 200_000,
        "full.pdf": lambda: make_pdf(TEXT + b"BT /F1 12 Tf 9 9 Td " + b"(abcdefghi) Tj " * 400_000 + b"ET"),
        "stream.pdf": lambda: make_pdf(TEXT + b" " * 200_000_000),
    }
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.md").write_text(GOOD)
    (folder / name).write_bytes(made[name]())
    out = tmp_path / "chunks.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", CHUNK, str(folder), str(out)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr.strip().removeprefix("Loading groundset.\n")  # which it says where that takes long
    assert re.fullmatch(rf"Skipped {name}: {reason}\.", said)
    assert "brothers" in out.read_text()


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"a b " * (9 << 20), "larger than 32 MB"),
        ("a.html", b"a b " * (5 << 20), "larger than 16 MB"),
        ("a.md", b"a\n" * 1_000_002, "more than 1,000,000 lines"),
        ("b.html", b"<p>Some text.</p>" * 130_000, "more than 250,000 HTML tags"),
        ("a.csv", b"a," * 4_000 + b"\nb" * 4_000, "more than 5,000,000 cells"),
        ("a.ipynb", b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_file_that_is_too_much_is_skipped(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    assert skipped(tmp_path, name, data) == reason


def test_a_large_file_is_not_even_opened(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(UnparsableError, match="larger than 256 MB"):
        read_document(FoundFile(file, "a.pdf"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [(MemoryError, "reading it takes more memory than there is"), (RecursionError, "nested too deep")],
)
def test_one_file_may_run_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception], reason: str
) -> None:
    def parse(text: str) -> None:
        raise error

    monkeypatch.setattr(documents, "parse_plain", parse)
    assert skipped(tmp_path, "a.txt", GOOD.encode()) == reason


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_foreign_parsers_may_run_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, make_docx: Make, make_pdf: Make, error: type[Exception]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("markitdown.converters.DocxConverter.convert", fail)
    with pytest.raises(error):
        parse_office(make_docx("<w:p/>"), ".docx")
    monkeypatch.setattr("pdfplumber.pdf.PDFDocument", fail)
    with pytest.raises(error):
        parse_pdf(make_pdf(TEXT))


def test_pictures_of_an_archive_are_not_unpacked(make_docx: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    paragraph = "<w:p><w:r><w:t>The mill was built by two brothers.</w:t></w:r></w:p>"
    bare = make_docx(paragraph)
    pictures = make_docx(paragraph, one=bytes(100 << 20), two=b"picture")
    handed: list[int] = []
    convert = DocxConverter.convert

    def watch(self: DocxConverter, stream: object, *arguments: object, **options: object) -> object:
        handed.append(len(stream.getvalue()))  # type: ignore[attr-defined]
        return convert(self, stream, *arguments, **options)

    monkeypatch.setattr(DocxConverter, "convert", watch)
    assert parse_office(pictures, ".docx") == parse_office(bare, ".docx")
    assert max(handed) < 10_000


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({f"{number}.xml": "" for number in range(20_001)}, "more than 20,000 files inside it"),
        ({"a.xml": "<a/>" * 2_000_001}, "unpacks to"),
        ({"a.xml": "<>" * 2_000_001, "b.bin": None}, "more than 2,000,000 tags"),
        ({"xl/worksheets/sheet1.xml": '<c r="A1"><v>1</v></c><c r="XFD99"><v>1</v></c>'}, "cells in a sheet"),
    ],
)
def test_archives(make_archive: Make, files: dict[str, str | None], reason: str) -> None:
    # What does not shrink, so that only the number of tags tells.
    noise = random.Random(0).randbytes(100_000)
    data = make_archive({name: noise if content is None else content for name, content in files.items()})
    with pytest.raises(UnparsableError, match=reason):
        parse_office(data, ".xlsx")


def test_a_sheet_with_format_but_no_value_far_out_is_fine(make_archive: Make) -> None:
    sheet = '<c r="A1"><v>1</v></c><c r="XFD1048576" s="3"/>'
    with pytest.raises(UnparsableError) as caught:
        parse_office(make_archive({"xl/worksheets/sheet1.xml": sheet}), ".xlsx")
    assert "cells" not in str(caught.value)


def test_a_pdf_with_too_many_pages(make_pdf: Make) -> None:
    with pytest.raises(UnparsableError, match="more than 10,000 pages"):
        parse_pdf(make_pdf(TEXT, pages=10_001))


def test_a_crowded_page_is_read_from_top_to_bottom(make_pdf: Make) -> None:
    words = b"".join(b"1 0 0 1 %d %d Tm (w%d) Tj " % (n % 20 * 28 + 20, 700 - n // 20 * 30, n) for n in range(400))
    text = parse_pdf(make_pdf(TEXT + b"BT /F1 4 Tf " + words + b"ET")).text
    assert text.split()[-400:] == [f"w{number}" for number in range(400)]


@pytest.mark.parametrize(
    ("bound", "most", "reason"),
    [("_MAX_DRAWN_ON_PAGE", 100, "more than 100 letters and lines on a page"), ("_MAX_DRAWN", 200, "more than 200")],
)
def test_what_is_drawn_is_counted(
    make_pdf: Make, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, reason: str
) -> None:
    drawing = TEXT + b"10 10 m 90 90 l S " * 60
    assert "two brothers" in parse_pdf(make_pdf(drawing)).text
    monkeypatch.setattr(pdf_pages, bound, most)
    with pytest.raises(UnparsableError, match=reason):
        parse_pdf(make_pdf(drawing, pages=2))


def test_streams_count_together_and_however_often_they_were_packed(
    make_pdf: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_pdf(TEXT + b" " * 3_000_000)
    assert "two brothers" in parse_pdf(data).text
    twice = make_pdf(zlib.compress(b" " * 3_000_000))
    monkeypatch.setattr(pdf_pages, "_MAX_STREAM", 2_000_000)
    for packed in (data, twice):
        with pytest.raises(UnparsableError, match="a part of it unpacked larger"):
            parse_pdf(packed)
    monkeypatch.setattr(pdf_pages, "_MAX_STREAM", 4_000_000)
    monkeypatch.setattr(pdf_pages, "_MAX_STREAMS", 2_000_000)
    with pytest.raises(UnparsableError, match="unpacked larger"):
        parse_pdf(data)


def test_the_documentation_states_the_bounds() -> None:
    told = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    megabytes = (bounds.MAX_TEXT, bounds.MAX_HTML, bounds.MAX_FILE)
    megabytes += (pdf_pages._MAX_STREAM, pdf_pages._MAX_STREAMS, archives._MAX_UNPACKED, archives._SMALL)
    rows = "".join(line for line in told.splitlines() if line.startswith("|"))
    assert [f"{size >> 20} MB" for size in megabytes if f" {size >> 20} MB" not in rows] == []
    numbers = (bounds.MAX_LINES, bounds.MAX_TAGS, html_tree._MAX_DEPTH)
    numbers += (pdf_pages._MAX_PAGES, pdf_pages._MAX_DRAWN_ON_PAGE, pdf_pages._MAX_DRAWN)
    numbers += (archives._MAX_ENTRIES, archives._MAX_TAGS, archives._MAX_RATIO, archives._MAX_CELLS)
    assert [f"{number:,}" for number in numbers if f" {number:,} " not in rows.replace(",  ", " ")] == []


def test_the_command_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text(GOOD)
    (tmp_path / "large.txt").write_bytes(b"a b " * (9 << 20))
    corpus = build_corpus([tmp_path])
    assert [(file.path, file.reason) for file in corpus.skipped] == [("large.txt", "larger than 32 MB")]
    assert corpus.counts.chunks == 1
