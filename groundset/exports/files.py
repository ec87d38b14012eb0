"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from programs.errors import InputError

_SUFFIX = ".groundset-part"


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` to write to; it takes the name of `target` when the block ends well.

    Raises:
        InputError: The folder or the file cannot be written; the message names it.
    """
    try:
        if target.is_dir():
            raise InputError(f"cannot write {target}: it is a folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_SUFFIX)
        os.close(handle)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    aside = Path(name)
    try:
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~_umask())
        aside.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)


def is_leftover(name: str) -> bool:
    """Say whether a file of this name is what a killed process left behind."""
    return name.startswith(".") and name.endswith(_SUFFIX)


def _umask() -> int:
    """Return the mask of new files; a temporary file is private, the result is an ordinary one."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
