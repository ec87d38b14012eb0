"""Expand files, folders and globs to files with portable paths."""

# ruff: noqa: PTH110, PTH112, PTH114 - for these, a path that is too long or in a locked folder is
# none; pathlib raises

import os
from collections.abc import Iterable, Iterator, Sequence
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
    skipped: list[SkippedFile] = []
    matched: set[str] = set()  # of the globs in ``exclude``
    found: dict[
        str, tuple[Path, Path]
    ] = {}  # by what they lead to: the file, and the folder that names it
    for argument in map(Path, paths):
        try:
            expanded = list(_expand(argument, skipped))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{argument}: cannot be searched for documents: {reason}") from error
        matching = [_matching(_below(file, root), exclude) for file, root in expanded]
        matched.update(*matching)
        kept = [each for each, globs in zip(expanded, matching, strict=True) if not globs]
        # a file gives its name, not a link
        for file, root in sorted(kept, key=lambda each: os.path.islink(each[0])):
            first, _ = found.setdefault(os.path.realpath(file), (file, root))
            if os.path.islink(file) and first != file:
                skipped.append(
                    SkippedFile(_below(file, root), "link to a file that is read by itself")
                )
    if idle := [glob for glob in exclude if glob not in matched]:
        raise InputError(
            f"--exclude {idle[0]}: no file or folder below the given ones has this name or path"
        )
    names = [_below(file, root) for file, root in found.values()]
    if len(set(names)) < len(names):  # folders with the same names in them: name the folders, too
        common = Path(os.path.commonpath([root.absolute() for _, root in found.values()]))
        names = [_below(file.absolute(), common) for file, _ in found.values()]
    files = [FoundFile(file, name) for (file, _), name in zip(found.values(), names, strict=True)]
    return sorted(files, key=lambda each: (each.path, str(each.file))), skipped


def _expand(argument: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, Path]]:
    """Yield the files of one argument and the folder their paths are relative to."""
    if argument.is_dir():
        yield from _walk(argument, argument, skipped)
    elif argument.exists() or argument.is_symlink():
        yield argument, argument.parent
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
            yield from _walk(match, root, skipped) if is_folder else _usable([match], root, skipped)
    else:
        raise InputError(f"no such file or folder: {argument}")


def _walk(folder: Path, root: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, Path]]:
    def note(error: OSError) -> None:
        skipped.append(
            SkippedFile(_below(Path(error.filename), root), f"cannot be listed: {error.strerror}")
        )

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        links = [name for name in folders if os.path.islink(Path(parent, name))]
        paths = (Path(parent, name) for name in sorted((*names, *links)) if name[0] != ".")
        yield from _usable(paths, root, skipped)


def _usable(
    paths: Iterable[Path], root: Path, skipped: list[SkippedFile]
) -> Iterator[tuple[Path, Path]]:
    """Yield the files among paths, with the root; links to folders, or out of it, are skipped."""
    for path in paths:
        is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
        if os.path.exists(path) and not is_inside:
            skipped.append(SkippedFile(_below(path, root), "link that leads out of the folder"))
        elif os.path.isdir(path):
            skipped.append(SkippedFile(_below(path, root), "links to folders are not followed"))
        else:
            yield path, root


def _matching(path: str, globs: Sequence[str]) -> set[str]:
    """Return the globs that match a path, or the path or name of it or of a folder above it."""
    above = [path, *map(str, PurePosixPath(path).parents)][:-1]
    names = {name for each in above for name in (each, each.rpartition("/")[2])}
    return {
        glob
        for glob in globs
        if any(fnmatchcase(name, glob.removeprefix("**/").strip("/")) for name in names)
    }


def _below(path: Path, root: Path) -> str:
    return portable(path.relative_to(root).as_posix())


def portable(path: str) -> str:
    """Normalise a path to NFC, with undecodable bytes replaced."""
    return composed(path.encode("utf-8", "replace").decode())
