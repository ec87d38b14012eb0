"""`groundset.chunk`."""

from pathlib import Path

import pytest

import groundset

ARTICLE = "# Ferry\n\n" + " ".join(f"Ferry{n} leaves pier{n} with cargo{n} for harbour{n}." for n in range(60))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "ferry.md").write_text(ARTICLE, encoding="utf-8")
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    return tmp_path


def test_chunk_offsets_match_document_texts(docs: Path) -> None:
    chunks = groundset.chunk(str(docs), chunk_size=400, min_length=50)
    assert len(chunks) > 3
    for chunk in chunks:
        assert isinstance(chunk, groundset.Chunk)
        assert chunk.text == chunks.documents[chunk.doc_id].text[chunk.start : chunk.end]
        assert 50 <= len(chunk.text) <= 400
    assert [file.path for file in chunks.skipped] == ["empty.txt"]
    assert groundset.chunk([docs / "ferry.md"], chunk_size=400, min_length=50) == chunks


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"chunk_size": 0}, "chunk_size 0: must be at least 1"),
        ({"chunk_size": 9, "chunk_overlap": 9}, r"chunk_overlap 9: must be smaller"),
        ({"chunker": "magic"}, "chunker magic: choose one of recursive"),
        ({"min_length": 99999}, "no chunk is left: .* see min_length"),
    ],
)
def test_invalid_options_are_rejected(docs: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(groundset.InputError, match=f"^{message}"):
        groundset.chunk(docs, **given)
