"""Files of JSON lines."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(file: Path, rows: Iterable[Any]) -> Path:
    """Write rows; a text is a line as it is."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
