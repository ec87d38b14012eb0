"""JSON in ASCII: several of its readers open files in whatever encoding the machine has."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_json(file: Path, value: Any) -> None:
    """Write a value as indented JSON."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        json.dump(value, stream, indent=1)
        stream.write("\n")


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object in each line."""
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
