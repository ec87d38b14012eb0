"""Reading of Parquet files."""

import sys
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from groundset.parquet import parquet_columns, parquet_rows
from programs.errors import InputError

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


def write(file: Path, columns: dict[str, Any], **options: Any) -> Path:
    parquet.write_table(pa.table(columns), file, compression="zstd", **options)
    return file


def test_values_are_converted_to_json_types(tmp_path: Path) -> None:
    columns = {
        "doc_id": ["a", None],
        "seen": [datetime(2024, 5, 17, 9), None],
        "day": [date(2024, 5, 17), None],
        "several": [["x", "ä"], []],
        "metadata": [{"n": 1, "share": 0.5}, {"n": None, "share": float("nan")}],
    }
    file = write(tmp_path / "ümlaut.parquet", columns)
    assert parquet_columns(file) == set(columns)
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


def test_rows_are_read_lazily(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"n": range(100_000)})
    assert [fields for _, fields in islice(parquet_rows(file), 2)] == [{"n": 0}, {"n": 1}]


def test_oversized_row_is_rejected(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"text": ["a", "ferry " * 1_500_000]})
    with pytest.raises(InputError, match=r"a\.parquet, row 2: longer than 8 MB"):
        list(parquet_rows(file))


def test_small_file_with_huge_contents_is_rejected(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"text": ["ferry " * 150_000] * 1_000})
    assert file.stat().st_size < 5_000
    with pytest.raises(InputError, match=r"row 298: a file of [0-9,]+ bytes must not hold more than this"):
        list(parquet_rows(file))


@linux
def test_value_over_the_memory_limit_is_rejected(tmp_path: Path) -> None:
    several = pa.DictionaryArray.from_arrays(np.zeros(500, dtype=np.int32), pa.array(["x" * 10_000_000]))
    lists = pa.ListArray.from_arrays(pa.array([0, 500], type=pa.int32()), several)
    file = write(tmp_path / "a.parquet", {"kept": lists})
    with pytest.raises(InputError, match=r"after row 0: takes more than 1 GB of memory to read, or is damaged"):
        list(parquet_rows(file))
