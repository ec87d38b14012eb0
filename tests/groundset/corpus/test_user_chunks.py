import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pydantic_core import from_json, to_json

from groundset.corpus.corpus import CorpusOptions, build_corpus, write_chunks
from groundset.corpus.user_chunks import read_user_chunks
from groundset.sets.exports.autorag import corpus_table
from programs.errors import InputError

GOOD = {"doc_id": "a", "contents": "Short."}


def jsonl(tmp_path: Path, *rows: Any) -> Path:
    file = tmp_path / "own.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file


def test_rows_are_read_unchanged(tmp_path: Path) -> None:
    rows = [
        {**GOOD, "path": "x/the_mill.md", "metadata": {"page": 3}, "start_end_idx": [10, 16]},
        {"doc_id": 7, "contents": " spaced \u2028 ", "path": "x/the_mill.md", "title": "Other"},
        {"doc_id": "b", "contents": "Short."},
    ]
    documents, chunks = read_user_chunks(jsonl(tmp_path, *rows))
    assert [chunk.chunk_id for chunk in chunks] == ["a", "7", "b"]
    assert [chunk.text for chunk in chunks] == ["Short.", " spaced \u2028 ", "Short."]
    assert [chunk.title for chunk in chunks] == ["the mill", "Other", ""]
    assert chunks[0].metadata == {"page": 3, "start_end_idx": [10, 16]}
    assert chunks[0].doc_id == chunks[1].doc_id != chunks[2].doc_id
    texts = {document.doc_id: document.text for document in documents}
    assert all(texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_parquet_types_are_converted_to_json(tmp_path: Path) -> None:
    file = tmp_path / "corpus.parquet"
    stamp = datetime(2024, 5, 17)
    table = pa.Table.from_pylist(
        [{**GOOD, "metadata": {"last_modified_datetime": stamp, "prev_id": None}, "start_end_idx": [0, 5]}]
    )
    parquet.write_table(table, file)
    metadata = read_user_chunks(file).chunks[0].metadata
    assert metadata == {"last_modified_datetime": stamp.isoformat(), "prev_id": None, "start_end_idx": [0, 5]}


def deep(depth: int) -> Any:
    return {"a": deep(depth - 1)} if depth > 1 else {}


def test_metadata_of_maximum_depth_can_be_stored(tmp_path: Path) -> None:
    [chunk] = read_user_chunks(jsonl(tmp_path, {**GOOD, "metadata": deep(100)})).chunks
    context = {"contexts": [{"chunk": json.loads(chunk.model_dump_json())}]}
    assert from_json(to_json(context))["contexts"][0]["chunk"]["metadata"] == deep(100)


def test_characters_beyond_the_basic_plane(tmp_path: Path) -> None:
    assert read_user_chunks(jsonl(tmp_path, {"doc_id": "a", "contents": "\U0001f642"})).chunks[0].text == "\U0001f642"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{broken", r"own\.jsonl, line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ({"contents": "x"}, "line 2: column doc_id is missing"),
        ({"doc_id": "b"}, "line 2: column contents is missing"),
        ({"doc_id": "b", "contents": "  "}, "line 2, column contents: is empty"),
        ({"doc_id": "b", "contents": 5}, "line 2, column contents: must be text, not int"),
        ({"doc_id": "b", "contents": "x", "metadata": [1]}, "line 2, column metadata: must be an object"),
        ({"doc_id": "b", "contents": "x", "path": 3}, "line 2, column path: must be text"),
        ({"doc_id": "b", "contents": "x", "headings": "h"}, "line 2, column headings"),
        ({"doc_id": "b", "contents": "x", "start_end_idx": [1]}, "line 2, column start_end_idx"),
        ({"doc_id": {"a": 1}, "contents": "x"}, "line 2, column doc_id: must be text, not dict"),
        ({"doc_id": True, "contents": "x"}, "line 2, column doc_id: must be text, not bool"),
        ({"doc_id": "b", "contents": "x", "headings": [None]}, "line 2, column headings"),
        ({"doc_id": "b", "contents": "x", "start": 1e300, "end": {}}, "line 2, column start_end_idx"),
        ("[" * 100_000, "line 2: nested too deep"),
        ('{"doc_id": "b", "contents": "x", "metadata": ' + '{"a":' * 100_000, "line 2: nested too deep"),
        ({"doc_id": "b", "contents": "x", "metadata": deep(101)}, "column metadata: nested more than 100 deep"),
        ({"doc_id": "b", "contents": "a \ud800 b"}, "line 2: not valid Unicode text"),
        ({"doc_id": "\udfff", "contents": "x"}, "line 2: not valid Unicode text"),
        ({"doc_id": "b", "contents": "x", "headings": ["\ud800"]}, "line 2: not valid Unicode text"),
        ({"doc_id": "b", "contents": "x", "metadata": {"\ud800": 1}}, "line 2: not valid Unicode text"),
        (GOOD, r"line 2: the id 'a' was used before, in .*line 1"),
    ],
)
def test_error_names_line_and_column(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_user_chunks(jsonl(tmp_path, GOOD, row))


def test_invalid_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_user_chunks(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="holds no chunks"):
        read_user_chunks(jsonl(tmp_path, "", " "))
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a parquet file"):
        read_user_chunks(damaged)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"doc_id": "ä"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_user_chunks(latin)


def test_written_chunks_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Mill\n\n## Past\n\n" + "The mill was built by two brothers in 1887. " * 20)
    corpus = build_corpus([tmp_path / "a.md"])
    out, _ = write_chunks(corpus, tmp_path / "chunks.jsonl")
    again = build_corpus([out])
    assert [(c.chunk_id, c.doc_id, c.text, c.headings) for c in again.chunks] == [
        (c.chunk_id, c.doc_id, c.text, c.headings) for c in corpus.chunks
    ]


def test_autorag_export_keeps_documents_and_titles(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Mill\n\n" + "The mill was built by two brothers in 1887. " * 60)
    chunks = build_corpus([tmp_path / "a.md"], CorpusOptions(duplicate_threshold=None)).chunks
    file = tmp_path / "corpus.parquet"
    parquet.write_table(corpus_table(chunks, {chunk.doc_id: datetime(2024, 5, 17) for chunk in chunks}), file)
    own = read_user_chunks(file)
    assert len(own.chunks) > 1
    assert [(c.chunk_id, c.doc_id, c.title) for c in own.chunks] == [(c.chunk_id, c.doc_id, c.title) for c in chunks]


def test_title_in_the_metadata_is_ignored_with_chunk_ids(tmp_path: Path) -> None:
    row = {"chunk_id": "a", "doc_id": "mill", "text": "Short.", "metadata": {"title": 3, "document_id": []}}
    [chunk] = read_user_chunks(jsonl(tmp_path, row)).chunks
    assert (chunk.doc_id, chunk.title, chunk.metadata) == ("mill", "", row["metadata"])


def test_duplicate_ids_in_two_files(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    with pytest.raises(InputError, match="document id 'a'"):
        build_corpus([jsonl(tmp_path, GOOD), jsonl(tmp_path / "two", GOOD)])
