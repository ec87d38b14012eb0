"""Atomic writing of folders: a killed process never leaves files of two versions side by side."""

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from groundset.files import new_file_mask, why_not_made
from groundset.working_folders import is_leftover, remove_leftovers, working_folder
from programs.errors import InputError

_WORKING_FOLDER = -100  # AT_FDCWD: paths are relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


@contextmanager
def whole_folder(target: Path, *, last: str) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``target``; see :func:`whole_folders`."""
    with whole_folders({target: last}) as (aside,):
        yield aside


@contextmanager
def whole_folders(targets: Mapping[Path, str]) -> Iterator[list[Path]]:
    """Yield a temporary folder for each target; they replace the targets when the block succeeds.

    Each is exchanged with its target atomically, one right after the other; no other process can write the same targets
    meanwhile. Where an exchange is impossible (the target is a mount point or the working folder, or the file system
    does not support it) the files are moved one by one: the file named in ``targets`` is removed first and moved last,
    so that it never lies beside files of another version.

    Raises:
        InputError: a target cannot be written, or another process is writing it; the message names the folder.
    """
    resolved = {target.resolve(): last for target, last in targets.items()}
    if len(resolved) < len(targets):
        raise InputError(f"cannot write {' and '.join(map(str, targets))}: some of them are the same folder")
    with ExitStack() as stack:
        stack.enter_context(_naming(Path(os.path.commonpath(resolved))))
        asides = {}
        for target in resolved:
            with _naming(target):
                asides[target] = stack.enter_context(_aside(target))
        yield list(asides.values())
        for target, aside in asides.items():
            with _naming(target):
                _complete(aside)
        for target, aside in asides.items():
            with _naming(target):
                _put(aside, target, resolved[target])


def check_folder(folder: Path) -> None:
    """Check that a folder can be created or written, before any work is done.

    Raises:
        InputError: it is a file, or cannot be created or written.
    """
    if reason := "it is a file, not a folder" if folder.is_file() else why_not_made(folder):
        raise InputError(f"cannot write to {folder}: {reason}")


def check_own(folder: Path, own: Collection[str]) -> None:
    """Check that all files of a folder may be replaced.

    Args:
        folder: the folder; it need not exist.
        own: glob patterns of files that may be replaced. A pattern without a slash matches a name at the top, with all
            files in it; one with slashes matches a path below the folder.

    Raises:
        InputError: it holds other files, or is not a folder; the message names them.
    """
    check_folder(folder)

    def is_own(path: str) -> bool:
        top = path.partition("/")[0]
        return any(fits(path if "/" in pattern else top, pattern) for pattern in own)

    try:
        if foreign := list(islice((path for path in _leaves(folder) if not is_own(path)), 3)):
            kind = "is the folder of a run" if "run.sqlite" in {path.name for path in folder.iterdir()} else ""
            raise InputError(
                f"{folder} {kind or 'holds other files (' + ', '.join(foreign) + ')'}; name an empty or a new folder"
            )
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from error


def fits(path: str, pattern: str) -> bool:
    """Return whether a glob pattern matches a path; ``*`` does not match a slash."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def _leaves(folder: Path) -> Iterator[str]:
    """Yield the paths of all files and empty folders below a folder, except leftovers of killed processes."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if is_leftover(path.name):
            continue
        if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
            yield from (f"{path.name}/{below}" for below in _leaves(path))
        else:
            yield path.name


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Turn an ``OSError`` into an error that names the folder."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """Yield a new folder beside the target, or inside it if the target cannot be replaced."""
    target.parent.mkdir(parents=True, exist_ok=True)
    exists = target.is_dir()
    keeps_its_place = exists and (target.is_mount() or not os.access(target.parent, os.W_OK) or _is_working(target))
    if exists:
        remove_leftovers(target)
    with working_folder(target if keeps_its_place else target.parent, target.name) as working:
        aside = Path(tempfile.mkdtemp(dir=working))
        aside.chmod(target.stat().st_mode & 0o7777 if exists else 0o777 & ~new_file_mask())
        yield aside


def _complete(aside: Path) -> None:
    """Sync all files of a folder to disk, and give them the usual permissions."""
    for path in aside.rglob("*"):
        if path.is_dir():
            path.chmod(0o777 & ~new_file_mask())
            continue
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        path.chmod(0o666 & ~new_file_mask())


def _is_working(folder: Path) -> bool:
    """Return whether a folder is the working folder; replacing it would leave a shell in a removed folder."""
    return folder == Path.cwd().resolve()


def _put(aside: Path, target: Path, last: str) -> None:
    if not target.exists():
        aside.rename(target)
        return
    if not aside.is_relative_to(target):
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
        destination = target / path.name
        if destination.is_dir():
            _remove(destination)
        path.replace(destination)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _exchange(first: Path, second: Path) -> None:
    """Exchange two folders atomically.

    Raises:
        OSError: the system or the file system does not support it (``ENOSYS``, ``EINVAL``), or the exchange failed.
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
