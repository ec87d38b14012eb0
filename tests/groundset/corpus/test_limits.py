"""Limits for reading a file: a file that exceeds them is skipped with a reason, and the others are
read.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest
from foreign_files import archive, docx, pdf

from groundset.corpus import read
from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions

GOOD = "The mill was built by two brothers in 1887. " * 10
TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"
MEMORY = "reading it takes more than 300 MB of memory"
ABORT = "reading it aborts its process or takes more than 300 MB of memory"
SECONDS = "reading it takes more than 1 s of processor time"


def skipped(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the reasons why files are skipped beside a good one."""
    for name, data in {**files, "good.md": GOOD.encode()}.items():
        (folder / name).write_bytes(data)
    lines: list[str] = []
    corpus = read_corpus(CorpusOptions(documents=[folder]), notify=lines.append)
    assert [document.path for document in corpus.documents.values()] == ["good.md"]
    assert lines == [f"skipped {path}: {reason}" for path, reason in corpus.skipped]
    return dict(corpus.skipped)


def test_files_that_exceed_memory_or_time_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "LIMITS", {"memory_mb": 300, "output_mb": 9})
    monkeypatch.setattr(read, "SECONDS", 1)
    monkeypatch.setattr(read, "SECONDS_PER_MB", 0)
    monkeypatch.setattr(read, "SECONDS_PER_MB_OF_PDF", 0)
    files = {
        "attributes.html": b"<p %s>a</p>" % b"".join(b"a%d=1 " % n for n in range(900_000)),
        "bomb.docx": archive({"word/document.xml": b" " * (400 << 20)}),
        "image.pdf": pdf(b" " * (300 << 20), filters=b"/FlateDecode/X/Image"),
        "open.html": b"<![CDATA[" * 200_000,
        "wide.csv": b"a," * 9_000 + b"\nb" * 9_000,
    }
    reasons = skipped(tmp_path, files)
    assert reasons.keys() == files.keys()
    assert set(reasons.values()) <= {MEMORY, SECONDS, ABORT}


def test_damaged_or_too_long_files_are_skipped(tmp_path: Path) -> None:
    big = tmp_path / "big.pdf"
    files = {
        "cut.docx": docx("<w:p/>")[:-40],
        "cut.pdf": pdf(TEXT)[:200],
        "deep.ipynb": b"[" * 100_000,
        "lines.md": b"a\n" * 500_002,
        "long.txt": b"a b " * (5 << 20),
    }
    with big.open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file, which is not opened
    assert skipped(tmp_path, files) == {
        "big.pdf": "larger than 256 MB",
        "cut.docx": "damaged docx file (BadZipFile)",
        "cut.pdf": "damaged pdf file (PSEOF)",
        "deep.ipynb": "nested too deep",
        "lines.md": "its text has more than 500,000 lines",
        "long.txt": "its text is longer than 16 MB",
    }
