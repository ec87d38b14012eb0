"""Read and validate rows of untrusted files; every row comes with its file and line for messages.

Parquet is read in a child process with a memory limit: a few kilobytes of it can decompress to
gigabytes in many ways (pages, dictionaries, delta encoding). The child writes each row as a line of
JSON, so that only one row is in memory here.
"""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

from groundset.bounded import child_command, limit_memory
from groundset.programs.errors import InputError, first_line
from groundset.programs.untrusted import (
    MAX_NAME,
    MAX_ROW,
    MAX_TEXT,
    json_of,
    numbered_lines,
    opened,
    small_text,
)

Row = tuple[str, Mapping[str, Any]]
# Pydantic parses JSON up to a depth of 200, and runs store metadata several levels down.
_MAX_DEPTH = 100
_NAMES = ("path", "title", "evolution", "language", "split", "document_id")
# A row group is read page by page, and a page is about a megabyte; Arrow itself takes 0.2 GB.
_MEMORY_MB = 1024
# The maximum size of all rows: a multiple of the file size, or a fixed size if larger. Well
# compressed text has a ratio of ten, passages repeated in many rows one of a hundred.
_MAX_RATIO, _ALWAYS_ALLOWED = 200, 256 << 20
_ROW_COST = 1024  # memory of an empty row as a chunk or a question
# Spreadsheets execute texts that begin like a formula, also in full width, and some behind spaces
# and what is not seen. What is read with semicolons or tabs between its cells has further cells,
# and lines without regard to quotes.
_UNSEEN = (
    '"\\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u180e'
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
)
_BEGIN = r"(?:^|(?<=[;\t\n])|(?<=\r)(?!\n))"
_FORMULA = re.compile(f"^(?=[\t\r\n\0])|{_BEGIN}(?='|[{_UNSEEN}]*[=+@＝＋－＠-])")
_GUARD = re.compile(f"{_BEGIN}'")
_JSON_CELLS = (
    "headings",
    "start",
    "end",
    "retrieval_gt",
    "chunk_ids",
    "conversation",
    "probability",
)
_MOST_BYTES = 64 << 20  # of a file of lines
_MOST_QUESTIONS = 10_000  # different ones; grouping takes quadratic time
_ROWS_AT_ONCE = 16  # each may hold a text of several megabytes; larger batches are hardly faster


def jsonl_rows(file: Path) -> Iterator[Row]:
    """Yield the objects of a file of JSON lines; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line is not a JSON object, or too long; the
            message names it.
    """
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        fields = json_of(where, line)
        if not isinstance(fields, dict):
            raise InputError(f"{where}: not a JSON object")
        yield where, fields


def csv_cell(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet executes: lists and objects as JSON, apostrophes
    before formulas.
    """
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return _FORMULA.sub("'", text) if isinstance(text, str) else text


def csv_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a file as :func:`csv_cell` writes them; empty cells are None.

    Raises:
        InputError: the file cannot be read, or a row is malformed; the message names its line.
    """
    for where, fields in _cells(file):
        cells = {name: _GUARD.sub("", cell) if cell else None for name, cell in fields.items()}
        for name in _JSON_CELLS:
            if cell := cells.get(name):
                cells[name] = json_of(f"{where}, column {name}", cell)
        yield where, cells


def _cells(file: Path) -> Iterator[Row]:
    """Yield the rows of a csv file by the line with the names of its columns, whose separator gives
    most of them.
    """
    csv.field_size_limit(MAX_ROW)
    number = 0
    try:
        lines = (line.decode() + "\n" for _, line in numbered_lines(file))
        declared, _ = declared_separator(first := next(lines, ""))
        first = next(lines, "") if declared else first

        def columns(separator: str) -> int:
            return len(next(csv.reader([first], delimiter=separator), []))

        separator = declared or max(",;\t|", key=columns)
        rows = csv.DictReader(chain([first], lines), delimiter=separator, strict=True)
        for fields in rows:
            where = f"{file}, line {(number := rows.line_num + bool(declared))}"
            if None in fields:
                raise InputError(f"{where}: more cells than columns")
            yield where, fields
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(
            f"{file}, after line {number}: not a csv file in UTF-8 ({error})"
        ) from error


def declared_separator(text: str) -> tuple[str, str]:
    """Return the separator that Excel has written above a table of values, and the table."""
    first, _, rest = text.partition("\n")
    return (first[4:5], rest) if first.startswith("sep=") else ("", text)


def named_rows(file: Path, option: str, of_line: str = "") -> Iterator[Row]:
    """Yield the rows of a .jsonl file, or of a .csv file with the names of its columns in small
    letters.

    With ``of_line``, each line of a .txt file is a row with a text of that name, too.

    Raises:
        InputError: the file has another suffix, cannot be read, or is malformed; the message names
            it.
    """
    kind = file.suffix.lower()
    if kind == ".jsonl":
        yield from jsonl_rows(file)
    elif kind == ".csv":
        for where, fields in _cells(file):
            yield where, {name.strip().casefold(): value for name, value in fields.items()}
    elif kind == ".txt" and of_line:
        for number, line in enumerate(small_text(file, _MOST_BYTES).split("\n"), 1):
            if line.strip():
                yield f"{file}, line {number}", {of_line: line.removesuffix("\r")}
    else:
        raise InputError(f"{option} {file}: name a {'.txt, ' * bool(of_line)}.csv or .jsonl file")


def questions_in(file: Path, option: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return where each question of a file stands, as one line, with its row; it may be empty.

    Raises:
        InputError: it has no such column, no questions or too many; or see :func:`named_rows`.
    """
    found = []
    for where, fields in named_rows(file, option, "question"):
        if not {"question", "query"} & fields.keys():
            names = ", ".join(fields) or "none"
            raise InputError(f"{where}: column question or query is missing; there are {names}")
        text = optional(where, fields, "question") or optional(where, fields, "query")
        found.append((where, " ".join((text or "").split()), fields))
    count = len({question for _, question, _ in found} - {""})
    if not 0 < count <= _MOST_QUESTIONS:
        raise InputError(
            f"{option} {file}: give 1 to {_MOST_QUESTIONS:,} different questions, not {count:,}"
        )
    return found


def parquet_rows(
    file: Path, *, longest: int = MAX_ROW, kind: type[InputError] = InputError
) -> Iterator[Row]:
    """Yield the rows of a parquet file; values without a JSON type, such as dates, become text.

    A row has at most ``longest`` bytes as JSON.

    Raises:
        InputError: the file cannot be read, is not parquet or damaged, or holds far more data than
            its size suggests.
    """
    command = child_command("groundset.rows:_write_rows")
    with (
        opened(file, kind) as stream,
        subprocess.Popen(
            command, stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process,
    ):
        lines, size = process.stdout, os.fstat(stream.fileno()).st_size
        assert lines is not None
        left = max(_ALWAYS_ALLOWED, _MAX_RATIO * size)
        try:
            for number in count(1):
                where, line = f"{file}, row {number}", lines.readline(longest + 2)
                if line == b"null\n":
                    return
                if line.startswith(b'"'):
                    raise InputError(f"{file}{json.loads(line)}")
                if not line:
                    reason = "takes more than 1 GB of memory to read, or is damaged"
                    raise InputError(f"{file}, after row {number - 1}: {reason}")
                if len(line) > longest:
                    raise InputError(f"{where}: longer than {longest >> 20} MB")
                left -= len(line) + _ROW_COST
                if left < 0:
                    raise InputError(
                        f"{where}: a file of {size:,} bytes must not hold more than this"
                    )
                yield where, json.loads(line)
        finally:
            process.kill()


def _write_rows() -> None:
    """Write the parquet file on standard input as lines of JSON; the last line is null, or the
    reason of a failure.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)  # libraries may print to standard output
    limit_memory(_MEMORY_MB)
    import pyarrow
    from pyarrow import parquet

    number, failure = 0, None
    try:
        with parquet.ParquetFile(sys.stdin.buffer, pre_buffer=False, buffer_size=1 << 20) as table:
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, use_threads=False):
                for fields in batch.to_pylist():
                    out.write(json.dumps(fields, ensure_ascii=False, default=_plain_value) + "\n")
                    number += 1
    except MemoryError:
        return  # without a last line, the parent reports the limit
    except (pyarrow.ArrowException, OSError) as error:  # the latter for invalid bytes
        failure = f" is not a parquet file ({first_line(error)})"
    # A text that is not UTF-8, or a date after the year 9999.
    except (OverflowError, ValueError, RecursionError) as error:
        failure = f", after row {number}: {first_line(error)}"
    out.write(json.dumps(failure) + "\n")
    out.flush()


def _plain_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def required(where: str, fields: Mapping[str, Any], *names: str) -> str:
    """Return the text in the first named column that has a value; an id may be a number.

    Raises:
        InputError: there is no valid text; the message begins with ``where``.
    """
    name = next((name for name in names if fields.get(name) is not None), names[0])
    value, is_id = fields.get(name), name.endswith("id")
    value = str(value) if is_id and isinstance(value, int) else value
    if value is None:
        raise InputError(f"{where}: column {name} is missing")
    if not isinstance(value, str):
        raise InputError(f"{where}, column {name}: must be text, not {type(value).__name__}")
    if not value.strip():
        raise InputError(f"{where}, column {name}: is empty")
    _check_length(
        f"{where}, column {name}", value, MAX_NAME if is_id or name in _NAMES else MAX_TEXT
    )
    return value


def optional(where: str, fields: Mapping[str, Any], name: str) -> str | None:
    """Return the text in a column, None if it is missing or blank; see :func:`required`."""
    value = fields.get(name)
    is_blank = value is None or (isinstance(value, str) and not value.strip())
    return None if is_blank else required(where, fields, name)


def _check_length(where: str, text: str, most: int = MAX_TEXT) -> None:
    if len(text) > most:
        raise InputError(f"{where}: longer than {most:,} characters")


def span_of(where: str, fields: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the offsets in ``start_end_idx``, or in ``start`` and ``end``, or None."""
    match fields.get("start_end_idx") or [fields.get("start"), fields.get("end")]:
        case [int(start), int(end)]:
            return start, end
        case [None, _] | [_, None]:
            return None
    raise InputError(f"{where}, column start_end_idx: must be two whole numbers")


def metadata_of(where: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in ``metadata``, empty if it is missing.

    Raises:
        InputError: it is not an object, too long or too deep.
    """
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InputError(
            f"{where}, column metadata: must be an object, not {type(metadata).__name__}"
        )
    if _is_nested(metadata, _MAX_DEPTH):
        raise InputError(f"{where}, column metadata: nested more than {_MAX_DEPTH} deep")
    _check_length(f"{where}, column metadata", json.dumps(metadata, ensure_ascii=False))
    return metadata


def _is_nested(value: object, depth: int) -> bool:
    """Return whether objects and lists are nested more than ``depth`` deep."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_nested(each, depth - 1) for each in inner)
