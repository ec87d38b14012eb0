"""Expand files, folders and globs to files with portable paths."""

# ruff: noqa: PTH110, PTH112, PTH114 - for these, a path that is too long or in a locked folder is
# none; pathlib raises

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from groundset.programs.errors import InputError
from groundset.programs.text import composed

_GLOB = frozenset("*?[")


class SkippedFile(NamedTuple):
    """A skipped file and the reason."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A file, and the path that names the document, relative to the given folder."""

    file: Path
    path: str


class _Entry(NamedTuple):
    """A file that was found, the folder that its name is relative to, and why it is skipped."""

    file: Path
    root: Path
    reason: str = ""

    @property
    def name(self) -> str:
        return portable(self.file.relative_to(self.root).as_posix())


def find_documents(
    paths: Sequence[str | Path], exclude: Sequence[str] = ()
) -> tuple[list[FoundFile], list[SkippedFile]]:
    """Expand files, folders and globs to the files in the order of their paths, without the hidden
    ones in folders.

    A symbolic link in a folder is followed only to a file in the same folder, so that a folder from
    someone else cannot expose other files. A link passed as an argument is followed. What is
    skipped is returned, too, but not what is excluded: a glob in ``exclude`` is a path below the
    given folder, or the name of files and folders in it.

    Raises:
        InputError: a path does not exist, or a glob matches nothing.
    """
    entries: list[_Entry] = []
    for argument in map(Path, paths):
        try:
            entries += _expand(argument)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{argument}: cannot be searched for documents: {reason}") from error
    excluded = [_matching(entry.name, exclude) for entry in entries]
    for glob in set(exclude).difference(*excluded):
        raise InputError(
            f"--exclude {glob}: no file or folder below the given ones has this name or path"
        )
    kept = [entry for entry, globs in zip(entries, excluded, strict=True) if not globs]
    skipped = [SkippedFile(entry.name, entry.reason) for entry in kept if entry.reason]
    found: dict[str, _Entry] = {}  # by what they lead to; a file gives its name, not a link
    for entry in sorted(kept, key=lambda entry: os.path.islink(entry.file)):
        if not entry.reason:
            found.setdefault(os.path.realpath(entry.file), entry)
    if len({entry.name for entry in found.values()}) < len(found):
        # Folders have the same names in them: name the folders, too.
        common = Path(os.path.commonpath([entry.root.absolute() for entry in found.values()]))
        found = {key: _Entry(entry.file.absolute(), common) for key, entry in found.items()}
    files = [FoundFile(entry.file, entry.name) for entry in found.values()]
    return sorted(files, key=lambda each: (each.path, str(each.file))), skipped


def _expand(argument: Path) -> Iterator[_Entry]:
    """Yield the files of one argument."""
    if argument.is_dir():
        yield from _walk(argument, argument)
    elif argument.exists() or argument.is_symlink():
        yield _Entry(argument, argument.parent)
    elif _GLOB & set(str(argument)):
        root = Path(*takewhile(lambda part: not _GLOB & set(part), argument.parts))
        matches = [
            match
            for match in sorted(root.glob(str(argument.relative_to(root))))
            if not any(part[0] == "." for part in match.relative_to(root).parts)
        ]
        if not matches:
            raise InputError(f"no file matches {argument}")
        for match in matches:
            is_folder = match.is_dir() and not match.is_symlink()
            yield from _walk(match, root) if is_folder else [_inside(match, root)]
    else:
        raise InputError(f"no such file or folder: {argument}")


def _walk(folder: Path, root: Path) -> Iterator[_Entry]:
    errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        links = [name for name in folders if os.path.islink(Path(parent, name))]
        for name in sorted((*names, *links)):
            if name[0] != ".":
                yield _inside(Path(parent, name), root)
    for error in errors:
        yield _Entry(Path(error.filename), root, f"cannot be listed: {error.strerror}")


def _inside(path: Path, root: Path) -> _Entry:
    """Return what is found in a folder; links to folders, or out of it, are skipped."""
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    if os.path.exists(path) and not is_inside:
        return _Entry(path, root, "link that leads out of the folder")
    is_folder = os.path.isdir(path)
    return _Entry(path, root, "links to folders are not followed" if is_folder else "")


def _matching(path: str, globs: Sequence[str]) -> set[str]:
    """Return the globs that match a path, or the path or name of it or of a folder above it."""
    above = [path, *map(str, PurePosixPath(path).parents)][:-1]
    names = {name for each in above for name in (each, each.rpartition("/")[2])}
    return {
        glob
        for glob in globs
        if any(fnmatchcase(name, glob.removeprefix("**/").strip("/")) for name in names)
    }


def portable(path: str) -> str:
    """Normalise a path to NFC, with undecodable bytes replaced."""
    return composed(path.encode("utf-8", "replace").decode())
