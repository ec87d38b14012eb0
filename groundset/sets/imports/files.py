"""The files of a set: named one by one, or by their folder."""

from collections.abc import Sequence
from pathlib import Path

from programs.errors import InputError


def listed(paths: Sequence[Path]) -> list[Path]:
    """Return the files that are named, and those in folders that are, sorted; hidden ones are passed over.

    Raises:
        InputError: there is no such file or folder, or it cannot be read.
    """
    found: list[Path] = []
    for path in paths:
        try:
            if not path.exists():
                raise InputError(f"no such file or folder: {path}")
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            found += [file for file in inside if file.is_file() and not file.name.startswith(".")]
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return list(dict.fromkeys(found))


def named(paths: Sequence[Path]) -> str:
    """Return what to call several files or folders in a message."""
    return " and ".join(map(str, paths))
