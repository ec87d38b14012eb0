"""The parquet files of a run: a position and a value in each row, a text or a vector."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = tuple[int, str | bytes]
# The values of a part take four megabytes, or a document takes more; texts compress to a hundredth at best.
_ALWAYS_ALLOWED, _MAX_RATIO = 32 << 20, 200


def write_part(file: Path, rows: Sequence[Row]) -> str:
    """Write rows to a file, and return its SHA-256; values of bytes are vectors of one length."""
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    positions, values = zip(*rows, strict=True)
    if isinstance(values[0], bytes):
        numbers = np.frombuffer(b"".join(values), dtype="<f4")
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numbers), len(numbers) // len(rows))
    else:
        column = pyarrow.array(values, pyarrow.string())
    table = pyarrow.table({"position": pyarrow.array(positions, pyarrow.int64()), "value": column})
    parquet.write_table(table, file, compression="zstd", use_dictionary=False)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_part(argument: dict[str, str]) -> dict[str, Any]:
    """Return positions and values of a file; called in the child process.

    Texts are a list, vectors their numbers as bytes in base 64. The result is empty if the file has another SHA-256.

    Raises:
        TypeError: it has other columns, or holds far more than its size suggests.
        Exception: it is not parquet.
    """
    import pyarrow
    from pyarrow import parquet

    data = Path(argument["file"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != argument["sha256"]:
        return {}
    table = parquet.read_table(pyarrow.BufferReader(data), use_threads=False).combine_chunks()
    if table.schema.names != ["position", "value"] or table.schema.types[0] != pyarrow.int64():
        raise TypeError("other columns")
    if table.nbytes > max(_ALWAYS_ALLOWED, _MAX_RATIO * len(data)) or any(each.null_count for each in table.columns):
        raise TypeError("too large or incomplete")
    positions, column = table["position"].to_pylist(), table["value"]
    if column.type == pyarrow.string():
        return {"positions": positions, "texts": column.to_pylist()}
    if not pyarrow.types.is_fixed_size_list(column.type) or column.type.value_type != pyarrow.float32():
        raise TypeError("other columns")
    numbers = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return {"positions": positions, "vectors": b64encode(numbers.astype("<f4").tobytes()).decode()}
