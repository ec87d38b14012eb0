"""Folders that appear whole: nobody sees files of two versions side by side, whenever a process is killed."""

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from groundset.files import LEFTOVER_SUFFIX, is_leftover, new_file_mask, remove_leftovers
from programs.errors import InputError

_WORKING_FOLDER = -100  # AT_FDCWD: paths are relative to the working folder, as everywhere
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


@contextmanager
def whole_folder(target: Path, *, last: str) -> Iterator[Path]:
    """Yield a folder to write files to; it takes the place of ``target`` and of all that is in it.

    Both folders change places in one step. Where that cannot be done (the target is a mount point or the working
    folder, or the file system knows no such step) the files move one by one: ``last`` is removed first and comes last,
    so that it never stands beside files of another version.

    Raises:
        InputError: something cannot be written; the message names the folder.
    """
    target = target.resolve()
    try:
        aside = _make_aside(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        yield aside
        for path in aside.rglob("*"):
            if path.is_dir():
                path.chmod(0o777 & ~new_file_mask())
                continue
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
            path.chmod(0o666 & ~new_file_mask())
        _put(aside, target, last)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_own(folder: Path, own: Collection[str]) -> None:
    """Refuse a folder that holds anything else than files of ours, which may be replaced.

    Args:
        folder: need not be there.
        own: glob patterns of our files. One without a slash is of a name at the top, and of all that is in that folder;
            one with slashes is of a path below the folder.

    Raises:
        InputError: it holds something else, or is no folder; the message names it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write to {folder}: it is a file, not a folder")

    def is_own(path: str) -> bool:
        top = path.partition("/")[0]
        return any(fits(path if "/" in pattern else top, pattern) for pattern in own)

    try:
        if foreign := list(islice((path for path in _leaves(folder) if not is_own(path)), 3)):
            raise InputError(f"{folder} holds other files ({', '.join(foreign)}); name an empty folder")
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from error


def fits(path: str, pattern: str) -> bool:
    """Say whether a glob pattern is of a path, part by part: no ``*`` stands for a slash."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def _leaves(folder: Path) -> Iterator[str]:
    """Yield the paths of all files and empty folders below a folder but what killed processes left there."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if is_leftover(path.name):
            continue
        if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
            yield from (f"{path.name}/{below}" for below in _leaves(path))
        else:
            yield path.name


def _make_aside(target: Path) -> Path:
    """Return a new folder beside the target, or inside it where nothing beside it can take its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    exists = target.is_dir()
    keeps_its_place = exists and (target.is_mount() or not os.access(target.parent, os.W_OK) or _is_working(target))
    place = target if keeps_its_place else target.parent
    prefix = f".{target.name}."
    if exists:
        remove_leftovers(target)
    remove_leftovers(place, prefix)
    aside = Path(tempfile.mkdtemp(dir=place, prefix=prefix, suffix=LEFTOVER_SUFFIX))
    aside.chmod(target.stat().st_mode & 0o7777 if exists else 0o777 & ~new_file_mask())
    return aside


def _is_working(folder: Path) -> bool:
    """Say whether a folder is the working folder: a shell in it would be left in a removed one."""
    return folder == Path.cwd().resolve()


def _put(aside: Path, target: Path, last: str) -> None:
    if not target.exists():
        aside.rename(target)
        return
    if aside.parent != target:
        try:
            _exchange(aside, target)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EBUSY):
                raise
        else:
            return
    if (target / last).exists():
        _remove(target / last)
    kept = {path.name for path in aside.iterdir()}
    for path in target.iterdir():
        if path.name not in kept and not is_leftover(path.name):
            _remove(path)
    for path in sorted(aside.iterdir(), key=lambda path: path.name == last):
        place = target / path.name
        if place.is_dir():
            _remove(place)
        path.replace(place)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _exchange(first: Path, second: Path) -> None:
    """Let two folders change places in one step of the file system.

    Raises:
        OSError: the system or the file system cannot (``ENOSYS``, ``EINVAL``), or something else is wrong.
    """
    system: Any = ctypes.CDLL(None, use_errno=True) if sys.platform in ("linux", "darwin") else None
    paths = os.fsencode(first), os.fsencode(second)
    if hasattr(system, "renameat2"):
        failed = system.renameat2(_WORKING_FOLDER, paths[0], _WORKING_FOLDER, paths[1], _EXCHANGE)
    elif hasattr(system, "renamex_np"):
        failed = system.renamex_np(*paths, _EXCHANGE)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(second))
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(second))
