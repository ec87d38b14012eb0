"""Reading of untrusted rows, of JSON lines and of parquet files."""

import json
import sys
from datetime import date, datetime
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from refusal import refuses

from groundset.programs.untrusted import MAX_NAME, MAX_ROW, MAX_TEXT
from groundset.rows import jsonl_rows, metadata_of, parquet_rows, required

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


def test_texts_of_maximum_length_are_read(tmp_path):
    row = {
        "text": "a" * MAX_TEXT,
        "doc_id": "b" * MAX_NAME,
        "metadata": {"note": "c" * (MAX_TEXT - 20)},
    }
    file = tmp_path / "rows.jsonl"
    file.write_text("\ufeff" + json.dumps(row) + "\n\n", "utf-8")
    [(where, fields)] = jsonl_rows(file)
    assert required(where, fields, "text") == row["text"]
    assert required(where, fields, "doc_id") == row["doc_id"]
    assert metadata_of(where, fields) == row["metadata"]
    assert required("here", {"chunk_id": 3}, "id", "chunk_id") == "3"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "' + b"a" * MAX_ROW, "longer than 8 MB"),
        (b"[1]", "not a JSON object"),
        (b'{"score": NaN}', r"not JSON \(NaN is no number"),
        (b'{"score": 1, "score": 2}', r"not JSON \(the key score stands twice"),
        (b'{"text": "\xff"}', "not UTF-8 text"),
        (b'{"text": "\\ud800"}', "not valid Unicode text"),
        (b'{"text": ', r"not JSON \("),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_unusable_line_is_rejected_with_its_number(tmp_path, line, message):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"text": "a"}\n' + line)
    found = jsonl_rows(file)
    assert next(found)[1] == {"text": "a"}
    with refuses(rf"rows\.jsonl, line 2: {message}"):
        next(found)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": "a" * (MAX_TEXT + 1)}, "column text: longer than 1,000,000 characters"),
        ({"doc_id": "a" * (MAX_NAME + 1)}, "column doc_id: longer than 10,000 characters"),
        ({"text": 7}, "column text: must be text, not int"),
        ({"metadata": {"a": "b" * MAX_TEXT}}, "column metadata: longer than 1,000,000 characters"),
        (
            {"metadata": json.loads('{"a":' * 101 + "1" + "}" * 101)},
            "column metadata: nested more than 100 deep",
        ),
    ],
)
def test_unusable_value_is_rejected_with_its_column(fields, message):
    [name] = fields
    with refuses(f"^here, {message}$"):
        metadata_of("here", fields) if name == "metadata" else required("here", fields, name)


def write(file, columns, **options):
    parquet.write_table(pa.table(columns), file, compression="zstd", **options)
    return file


def test_parquet_values_are_converted_to_json_types(tmp_path):
    columns = {
        "doc_id": ["a", None],
        "seen": [datetime(2024, 5, 17, 9), None],
        "day": [date(2024, 5, 17), None],
        "several": [["x", "ä"], []],
        "metadata": [{"n": 1, "share": 0.5}, {"n": None, "share": float("nan")}],
    }
    file = write(tmp_path / "ümlaut.parquet", columns)
    (where, first), (_, second) = parquet_rows(file)
    assert where == f"{file}, row 1"
    assert first == {
        "doc_id": "a",
        "seen": "2024-05-17T09:00:00",
        "day": "2024-05-17",
        "several": ["x", "ä"],
        "metadata": {"n": 1, "share": 0.5},
    }
    assert np.isnan(second["metadata"]["share"])


def test_parquet_rows_are_read_lazily(tmp_path):
    file = write(tmp_path / "a.parquet", {"n": range(100_000)})
    assert [fields for _, fields in islice(parquet_rows(file), 2)] == [{"n": 0}, {"n": 1}]


def test_oversized_parquet_is_rejected(tmp_path):
    file = write(tmp_path / "a.parquet", {"text": ["a", "ferry " * 1_500_000]})
    with refuses(r"a\.parquet, row 2: longer than 8 MB"):
        list(parquet_rows(file))


def test_damaged_parquet_is_rejected(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no table")
    with refuses(r"a\.parquet is not a parquet file \(.*\)$"):
        list(parquet_rows(tmp_path / "a.parquet"))


@linux
def test_parquet_value_over_the_memory_limit_is_rejected(tmp_path):
    several = pa.DictionaryArray.from_arrays(
        np.zeros(500, dtype=np.int32), pa.array(["x" * 10_000_000])
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 500], type=pa.int32()), several)
    file = write(tmp_path / "a.parquet", {"kept": lists})
    with refuses(r"after row 0: takes more than 1 GB of memory to read, or is damaged"):
        list(parquet_rows(file))
