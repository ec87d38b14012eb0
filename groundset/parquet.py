"""Read untrusted parquet files in a child process with a memory limit.

A few kilobytes of parquet can decompress to gigabytes in many ways (pages, dictionaries, delta encoding). The child
writes each row as a line of JSON, so that only one row is in memory here. Memory is limited on Linux only.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from groundset.bounded import child_command, limit_memory
from groundset.rows import Row, plain_value
from programs.errors import InputError
from programs.untrusted import MAX_ROW, format_size, opened

# A row group is read page by page, and a page is about a megabyte; Arrow itself takes 0.2 GB.
_MEMORY_MB = 1024
# The maximum size of all rows: a multiple of the file size, or a fixed size if larger. Well compressed text has a ratio
# of ten, passages repeated in many rows one of a hundred.
_MAX_RATIO, _ALWAYS_ALLOWED = 200, 256 << 20
_ROW_COST = 1024  # memory of an empty row as a chunk or a question
_ROWS_AT_ONCE = 16  # each may hold a text of several megabytes; larger batches are hardly faster


def parquet_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a parquet file; values without a JSON type, such as dates, become text.

    Raises:
        InputError: the file is not parquet, is damaged, or holds far more data than its size suggests.
        OSError: the file cannot be read.
    """
    size = file.stat().st_size
    left = max(_ALWAYS_ALLOWED, _MAX_RATIO * size)
    with closing(_lines(file)) as lines:
        next(lines)
        for number, line in enumerate(lines, 1):
            where = f"{file}, row {number}"
            if len(line) > MAX_ROW:
                raise InputError(f"{where}: longer than {format_size(MAX_ROW)}")
            left -= len(line) + _ROW_COST
            if left < 0:
                raise InputError(f"{where}: a file of {size:,} bytes must not hold more than this")
            yield where, json.loads(line)


def parquet_columns(file: Path) -> set[str]:
    """Return the names of the columns of a parquet file."""
    try:
        with closing(_lines(file)) as lines:
            return set(json.loads(next(lines)))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error


def _lines(file: Path) -> Generator[bytes]:
    """Yield the output of the child: the names of the columns, then a line for each row."""
    command = child_command("groundset.parquet:_write_rows")
    with (
        opened(file) as stream,
        subprocess.Popen(command, stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
    ):
        assert process.stdout is not None
        try:
            for number in count():
                line = process.stdout.readline(MAX_ROW + 2)
                if line.startswith(b'"'):
                    raise InputError(f"{file}{json.loads(line)}")
                if line == b"null\n":
                    return
                if not line:
                    reason = "takes more than 1 GB of memory to read, or is damaged"
                    raise InputError(f"{file}, after row {max(0, number - 1)}: {reason}")
                yield line
        finally:
            process.kill()


def _write_rows() -> None:
    """Write the parquet file on standard input as lines of JSON; the last line is null, or the reason of a failure."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)  # libraries may print to standard output
    limit_memory(_MEMORY_MB)
    import pyarrow
    from pyarrow import parquet

    number, failure = 0, None
    try:
        with parquet.ParquetFile(sys.stdin.buffer, pre_buffer=False, buffer_size=1 << 20) as table:
            out.write(json.dumps(table.schema_arrow.names) + "\n")
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, use_threads=False):
                for fields in batch.to_pylist():
                    out.write(_line(fields) + "\n")
                    number += 1
    except MemoryError:
        return  # without a last line, the parent reports the limit
    except pyarrow.ArrowException as error:
        failure = f" is not a parquet file ({_first_line(error)})"
    except UnicodeError:
        failure = ": its texts are not UTF-8"
    except OSError as error:  # pyarrow raises it for invalid bytes
        failure = f" is damaged ({_first_line(error)})"
    except (OverflowError, ValueError, RecursionError) as error:  # for example a date after the year 9999
        failure = f", after row {number}: {_first_line(error)}"
    out.write(json.dumps(failure) + "\n")
    out.flush()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, default=plain_value)
