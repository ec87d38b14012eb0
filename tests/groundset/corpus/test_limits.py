"""Limits for reading a file: a file that exceeds them is skipped with a reason, and the others are
read.
"""

from foreign_files import pdf

from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions

GOOD = "The mill was built by two brothers in 1887. " * 10
TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"


def skipped(folder, files):
    """Return the reasons why files are skipped beside a good one."""
    for name, data in {**files, "good.md": GOOD.encode()}.items():
        (folder / name).write_bytes(data)
    lines = []
    corpus = read_corpus(CorpusOptions(documents=[folder]), notify=lines.append)
    assert [document.path for document in corpus.documents.values()] == ["good.md"]
    assert lines == [f"skipped {path}: {reason}" for path, reason in corpus.skipped]
    return dict(corpus.skipped)


def test_damaged_or_too_long_files_are_skipped(tmp_path):
    big = tmp_path / "big.pdf"
    files = {
        "cut.pdf": pdf(TEXT)[:200],
        "deep.ipynb": b"[" * 100_000,
        "lines.md": b"a\n" * 500_002,
        "long.txt": b"a b " * (5 << 20),
    }
    with big.open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file, which is not opened
    assert skipped(tmp_path, files) == {
        "big.pdf": "larger than 256 MB",
        "cut.pdf": "damaged pdf file (PSEOF)",
        "deep.ipynb": "nested too deep",
        "lines.md": "its text has more than 500,000 lines",
        "long.txt": "its text is longer than 16 MB",
    }
