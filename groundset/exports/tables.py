"""Files of an export: columns that are filled from rows, and written as the suffix says."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from groundset.exports.sets import EvaluationSet
from groundset.rows import csv_cell

Row = Mapping[str, Any]
_WHOLE = "test"  # the split of questions without one


class File(NamedTuple):
    """A file of an export.

    Columns are names of values, or by the name of a column the name of a value, a function of the
    row, an object or a list of such, or what is the same everywhere. A column that ends with ? is
    left out where it has no value.
    """

    of: Callable[[EvaluationSet], Iterable[Row]]  # yields the rows; ``split`` is the split of a row
    columns: Any
    whole: Callable[[list[Row]], Any] = list  # what a .json file holds of the rows

    def tables(self, found: EvaluationSet) -> dict[str, Any]:
        """Return an Arrow table for each split."""
        return {
            split: arrow_table(self.columns, rows) for split, rows in self._by_split(found).items()
        }

    def write(self, found: EvaluationSet, folder: Path, name: str) -> None:
        """Write the file if it has rows; ``*`` in the name stands for the split, and a folder is
        for `datasets`.
        """
        if "." not in name:
            _write_dataset(folder / name, self.tables(found))
        elif "*" in name:
            (folder / name).parent.mkdir()
            for split, members in self._by_split(found).items():
                self._write(folder / name.replace("*", split), members)
        else:
            rows = (filled(self.columns, row) for row in self.of(found))
            if (first := next(rows, None)) is not None:
                self._write(folder / name, chain([first], rows))

    def _write(self, file: Path, rows: Iterable[Row]) -> None:
        """Write rows, as JSON in ASCII, because tools open it in the encoding of the machine."""
        if file.suffix == ".parquet":
            import pyarrow.parquet as pq

            with file.open("wb") as stream:  # Arrow cannot open paths that are not UTF-8
                pq.write_table(arrow_table(self.columns, rows), stream)
            return
        is_csv = file.suffix == ".csv"
        # The byte order mark tells Excel the encoding.
        encoding = "utf-8-sig" if is_csv else "utf-8"
        with file.open("w", encoding=encoding, newline="") as text:
            if file.suffix == ".json":
                text.write(json.dumps(self.whole(list(rows)), indent=2) + "\n")
            elif file.suffix == ".jsonl":
                text.writelines(json.dumps(row) + "\n" for row in rows)
            else:
                dialect, end = ("excel", "\r\n") if is_csv else ("excel-tab", "\n")
                writer = csv.writer(text, dialect, lineterminator=end)
                writer.writerow(self.columns)
                for row in rows:
                    writer.writerow(map(csv_cell, row.values()) if is_csv else row.values())

    def _by_split(self, found: EvaluationSet) -> dict[str, list[Row]]:
        rows: dict[str, list[Row]] = {}
        for row in self.of(found):
            rows.setdefault(row["split"] or _WHOLE, []).append(filled(self.columns, row))
        return rows


def filled(columns: Any, row: Row) -> Any:
    """Return what columns make of a row; see :class:`File`."""
    if isinstance(columns, tuple):
        return {name: row[name] for name in columns}
    if isinstance(columns, list):
        return [filled(each, row) for each in columns]
    if not isinstance(columns, dict):
        value = row[columns] if isinstance(columns, str) else columns
        return value(row) if callable(value) else value
    values = {name: filled(each, row) for name, each in columns.items()}
    return {
        name.rstrip("?"): each
        for name, each in values.items()
        if name[-1] != "?" or each not in (None, [])
    }


def arrow_table(columns: Iterable[str], rows: Iterable[Row]) -> Any:
    """Return an Arrow table, whose types depend on the names of columns (and of metadata) only."""
    import pyarrow as pa

    text, texts, whole = pa.string(), pa.list_(pa.string()), pa.int64()
    types = {
        **dict.fromkeys(("contexts", "headings", "generation_gt", "chunk_ids"), texts),
        **dict.fromkeys(("rank", "start", "end"), whole),
        "start_end_idx": pa.list_(whole),
        "retrieval_gt": pa.list_(texts),
        "probability": pa.float64(),
        "answerable": pa.bool_(),
        "conversation": pa.list_(pa.struct([("role", text), ("content", text)])),
    }
    placed = ("chunk_id", "doc_id", "path", "title", "headings", "start", "end")
    types["provenance"] = pa.list_(pa.struct([(name, types.get(name, text)) for name in placed]))
    listed = list(rows)
    if "metadata" in columns:
        types["metadata"] = pa.infer_type([row["metadata"] for row in listed])
    names = [name for name in columns if name[-1] != "?" or any(name[:-1] in row for row in listed)]
    schema = pa.schema([(name.rstrip("?"), types.get(name.rstrip("?"), text)) for name in names])
    # Arrow ignores keys that are not in the schema.
    return pa.Table.from_pylist(listed, schema=schema)


def _write_dataset(folder: Path, tables: Mapping[str, Any]) -> None:
    import datasets

    has_bars = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    datasets.DatasetDict(
        {split: datasets.Dataset(table) for split, table in tables.items()}
    ).save_to_disk(folder)
    if has_bars:
        datasets.enable_progress_bars()
