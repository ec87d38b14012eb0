"""The user's own chunks."""

from datetime import datetime

import pyarrow as pa
import pytest
from json_lines import write
from pyarrow import parquet
from refusal import refuses

from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.own import read_own_chunks

GOOD = {"doc_id": "a", "contents": "Short."}


def read(file, *documents):
    return read_corpus(CorpusOptions(chunks=file, documents=documents), notify=print)


def test_rows_are_read_unchanged(tmp_path):
    rows = [
        {**GOOD, "path": "x/the_mill.md", "metadata": {"page": 3}, "start_end_idx": [10, 16]},
        {"doc_id": "b", "contents": "Other."},
        {
            "doc_id": 7,
            "contents": " spaced \u2028 \U0001f642 ",
            "path": "x/the_mill.md",
            "title": "Other",
        },
    ]
    corpus = read(write(tmp_path / "own.jsonl", rows))
    chunks = corpus.chunks
    assert [chunk.chunk_id for chunk in chunks] == ["a", "b", "7"]
    assert [chunk.text for chunk in chunks] == ["Short.", "Other.", " spaced \u2028 \U0001f642 "]
    assert [chunk.title for chunk in chunks] == ["the mill", "", "Other"]
    assert [chunk.path for chunk in chunks] == ["x/the_mill.md", "own.jsonl", "x/the_mill.md"]
    assert chunks[0].metadata == {"page": 3, "start_end_idx": [10, 16]}
    assert chunks[0].doc_id == chunks[2].doc_id != chunks[1].doc_id
    assert all(corpus.documents[c.doc_id].text[c.start : c.end] == c.text for c in chunks)


def test_autorag_tables(tmp_path):
    stamp = datetime(2024, 5, 17)
    facts = {"last_modified_datetime": stamp, "document_id": "mill", "title": "The mill"}
    facts |= {"prev_id": None, "page": 3}
    parquet.write_table(
        pa.Table.from_pylist([{**GOOD, "metadata": facts, "start_end_idx": [0, 5]}]),
        tmp_path / "c.parquet",
    )
    [chunk] = read(tmp_path / "c.parquet").chunks
    assert chunk.chunk_id == "a"
    assert chunk.doc_id == "mill"
    assert chunk.title == "The mill"
    assert chunk.metadata == {"page": 3, "start_end_idx": [0, 5]}


def test_chunk_ids_make_metadata_the_users(tmp_path):
    row = {
        "chunk_id": "a",
        "doc_id": "mill",
        "text": "Short.",
        "metadata": {"title": 3, "document_id": []},
    }
    [chunk] = read(write(tmp_path / "own.jsonl", [row])).chunks
    assert chunk.doc_id == "mill"
    assert chunk.title == ""
    assert chunk.metadata == row["metadata"]


def test_copies_are_kept_and_marked(tmp_path):
    text = "The mill on the river was built by two brothers, and it burned down twice."
    rows = [{"doc_id": name, "contents": text, "metadata": {"n": 1}} for name in ("a", "b")]
    assert [chunk.metadata for chunk in read(write(tmp_path / "own.jsonl", rows)).chunks] == [
        {"n": 1},
        {"n": 1, "copy_of": "a"},
    ]


def test_beside_documents(tmp_path):
    (tmp_path / "a.md").write_text(
        "# Mill\n\n" + "The mill was built by two brothers in 1887. " * 9
    )
    corpus = read(write(tmp_path / "own.jsonl", [GOOD]), tmp_path / "a.md")
    assert [chunk.title for chunk in corpus.chunks] == ["Mill", ""]
    [document, _] = corpus.documents
    with refuses(rf"own\.jsonl: the id '{document}' is also in DOCS"):
        read(
            write(
                tmp_path / "own.jsonl", [{"chunk_id": "x", "doc_id": document, "text": "Short."}]
            ),
            tmp_path / "a.md",
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"contents": "x"}, r"own\.jsonl, line 2: column doc_id is missing"),
        ({"doc_id": "b", "contents": "x", "start_end_idx": [1]}, "line 2, column start_end_idx"),
        ({**GOOD, "contents": "x"}, r"line 2: chunk a has another text in .*line 1"),
    ],
)
def test_error_names_line_and_column(tmp_path, row, message):
    with refuses(message):
        read_own_chunks(write(tmp_path / "own.jsonl", [GOOD, row]))


def test_invalid_files(tmp_path):
    for file, message in (
        (tmp_path / "absent.jsonl", "No such file"),
        (tmp_path / "a.csv", r"name a \.jsonl or \.parquet file"),
        (write(tmp_path / "own.jsonl", ["", " "]), "holds no chunks"),
    ):
        with refuses(message):
            read_own_chunks(file)


def test_offsets_that_fit_give_documents_back(tmp_path):
    text = "The mill burned down.\r\nIt was built again.\n\nThe weir stayed."
    spans = [(44, len(text)), (0, 21), (10, 42)]  # in any order, overlapping, with a gap
    rows = [
        {"chunk_id": str(n), "doc_id": "d", "text": text[a:b], "start": a, "end": b}
        for n, (a, b) in enumerate(spans)
    ]
    corpus = read(write(tmp_path / "own.jsonl", rows))
    assert [(chunk.start, chunk.end) for chunk in corpus.chunks] == spans
    assert corpus.documents["d"].text == text
    [other] = read(write(tmp_path / "own.jsonl", [rows[1] | {"text": "Something else."}])).chunks
    assert other.start == 0
    assert other.metadata == {"start_end_idx": [0, 21]}
    many = [
        {"chunk_id": str(n), "doc_id": "d", "text": "x" * 9, "start": 10 * n, "end": 10 * n + 9}
        for n in range(20_000)
    ]
    assert len(read_own_chunks(write(tmp_path / "own.jsonl", many))[0][0].text) == 199_999
