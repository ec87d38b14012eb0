"""Reading of JSONL rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundset.rows import headings_of, jsonl_rows, metadata_of, required
from programs.errors import InputError
from programs.untrusted import MAX_NAME, MAX_ROW, MAX_TEXT


def test_texts_of_maximum_length_are_read(tmp_path: Path) -> None:
    row = {"text": "a" * MAX_TEXT, "doc_id": "b" * MAX_NAME, "metadata": {"note": "c" * (MAX_TEXT - 20)}}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row))
    [(where, fields)] = jsonl_rows(file)
    assert (required(where, fields, "text"), required(where, fields, "doc_id")) == (row["text"], row["doc_id"])
    assert metadata_of(where, fields) == row["metadata"]


def test_oversized_row_is_rejected_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a"}\n{"text": "' + "a" * MAX_ROW)
    rows = jsonl_rows(file)
    assert next(rows)[1] == {"text": "a"}
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: longer than 8 MB"):
        next(rows)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": "a" * (MAX_TEXT + 1)}, "column text: longer than 1,000,000 characters"),
        ({"doc_id": "a" * (MAX_NAME + 1)}, "column doc_id: longer than 10,000 characters"),
        ({"title": "a" * (MAX_NAME + 1)}, "column title: longer than 10,000 characters"),
        ({"metadata": {"a": "b" * MAX_TEXT}}, "column metadata: longer than 1,000,000 characters"),
        ({"headings": ["a"] * 101}, "column headings: more than 100"),
        ({"headings": ["a" * MAX_NAME, "b"]}, "column headings: longer than 10,000 characters"),
    ],
)
def test_oversized_value_is_rejected_with_its_column(fields: dict[str, Any], message: str) -> None:
    [name] = fields
    read: dict[str, Any] = {"metadata": metadata_of, "headings": headings_of}
    with pytest.raises(InputError, match=f"^here, {message}$"):
        read[name]("here", fields) if name in read else required("here", fields, name)
