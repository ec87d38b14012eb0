"""Lets tests import the modules beside them, which --import-mode=importlib does not, and shares
their fixtures.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

sys.path.append(str(Path(__file__).parent))

from scripted_run import opened  # noqa: F401


@pytest.fixture(autouse=True)
def parquet_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the corpus of a run without a bounded process, whose start takes a second."""

    def rows(file: Path, **limits: int) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from ((str(file), row) for row in parquet.read_table(file).to_pylist())

    monkeypatch.setattr("groundset.rows.parquet_rows", rows)
