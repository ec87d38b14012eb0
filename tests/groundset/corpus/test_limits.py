"""Limits for parsing a file: a file that exceeds them is skipped with a reason, and the others are read."""

import sys
import zlib
from pathlib import Path

import pytest
from foreign_files import docx, pdf

from groundset.bounded import Limits
from groundset.corpus import documents
from groundset.corpus.documents import read_documents
from groundset.corpus.files import find_documents
from groundset.corpus.parsing import formats

GOOD = "The mill was built by two brothers in 1887. " * 10
TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"
SPACES = b" " * (300 << 20)
MEMORY = "reading it takes more than 300 MB of memory"
ABORT = "reading it aborts its process or takes more than 300 MB of memory"
SECONDS = "reading it takes more than 2 s of processor time"


def skipped(folder: Path, name: str, data: bytes) -> str:
    (folder / "good.md").write_text(GOOD)
    (folder / name).write_bytes(data)
    reading = read_documents(find_documents([folder]).files)
    assert [document.path for document in reading.documents] == ["good.md"]
    assert [file.path for file in reading.skipped] == [name]
    return reading.skipped[0].reason


def in_hexadecimal(drawing: bytes) -> bytes:
    return zlib.compress(drawing, 9).hex().encode() + b">"


def in_runs(drawing: bytes) -> bytes:
    return b"\x81 " * (len(drawing) // 128) + b"\x80"


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are only enforced on Linux")
@pytest.mark.parametrize(
    ("name", "data", "reasons"),
    [
        ("image.pdf", lambda: pdf(SPACES, filters=b"/FlateDecode/X/Image"), {MEMORY}),
        ("return.pdf", lambda: pdf(SPACES).replace(b"stream\nx", b"stream\rx"), {MEMORY}),
        ("hexadecimal.pdf", lambda: pdf(SPACES, pack=in_hexadecimal, filters=b"[/AHx/Fl]"), {MEMORY}),
        ("lengths.pdf", lambda: pdf(SPACES, pack=in_runs, filters=b"/RL"), {MEMORY, SECONDS}),
        ("full.pdf", lambda: pdf(b"BT /F1 9 Tf " + b"(abcdefghi) Tj " * 400_000 + b"ET"), {MEMORY, SECONDS}),
        ("long.docx", lambda: docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 800_000), {MEMORY, SECONDS}),
        ("attributes.html", lambda: b"<p %s>a</p>" % b"".join(b"a%d=1 " % n for n in range(900_000)), {MEMORY}),
        ("wide.csv", lambda: b"a," * 9_000 + b"\nb" * 9_000, {MEMORY, SECONDS}),
    ],
)
def test_file_that_exceeds_memory_or_time_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: object, reasons: set[str]
) -> None:
    monkeypatch.setattr(documents, "LIMITS", Limits(memory_mb=300, output_mb=9))
    monkeypatch.setattr(documents, "_MAX_PROCESSES", 1)  # others would not see the limits
    monkeypatch.setattr(documents, "SECONDS", 2)
    monkeypatch.setattr(documents, "SECONDS_PER_MB", 0)
    assert callable(data)
    assert skipped(tmp_path, name, data()) in reasons | {ABORT}  # Python cannot always raise MemoryError


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"a b " * (9 << 20), "its text is longer than 32 MB"),
        ("a.md", b"a\n" * 1_000_002, "its text has more than 1,000,000 lines"),
        ("a.ipynb", b"[" * 100_000, "nested too deep"),
    ],
)
def test_too_long_text_is_skipped(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    assert skipped(tmp_path, name, data) == reason


def test_too_large_file_is_not_opened(tmp_path: Path) -> None:
    with (tmp_path / "a.pdf").open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file
    reading = read_documents(find_documents([tmp_path]).files)
    assert [file.reason for file in reading.skipped] == ["larger than 256 MB"]


def test_documentation_states_the_limits() -> None:
    stated = " ".join((Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8").split())
    limits = documents.LIMITS
    for limit in (
        f"{documents.MAX_FILE_MB} MB",
        f"{formats.MAX_TEXT_MB} MB",
        f"{formats.MAX_LINES:,} lines",
        f"{limits.memory_mb // 1024} GB of memory",
        f"{documents.SECONDS} seconds of CPU time",
        f"{documents.SECONDS_PER_MB} per megabyte",
    ):
        assert limit in stated
