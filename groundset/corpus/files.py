"""Expand files, folders, globs and URLs to files with portable paths."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from groundset.corpus.remote import GLOB, RemoteFile, find_remote
from groundset.sources import Url, source_of
from programs.errors import InputError

_OUTSIDE = "link that leads out of the folder"


class SkippedFile(BaseModel):
    """A skipped file and the reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A file on disk or behind a URL, and the path that names the document, relative to the given folder."""

    file: Path | RemoteFile
    path: str


class _Placed(NamedTuple):
    """A file, its path relative to its root, and its whole path, both as parts."""

    file: Path | RemoteFile
    relative: tuple[str, ...]
    full: tuple[str, ...]


class FoundFiles(NamedTuple):
    """The files in the order of their paths, and the skipped folders and links."""

    files: list[FoundFile]
    skipped: list[SkippedFile]


def find_documents(paths: Sequence[str | Path]) -> FoundFiles:
    """Expand files, folders and globs, also as URLs, to files, without the hidden files in folders.

    A symbolic link in a folder is followed only to a file in the same folder, so that a folder from someone else
    cannot expose other files. A link passed as an argument is followed.
    """
    if not paths:
        raise InputError("no documents were named; pass files, folders or globs")
    skipped: list[SkippedFile] = []
    found: dict[Path, tuple[Path, Path]] = {}
    remote: dict[str, _Placed] = {}
    for argument in map(source_of, paths):
        if isinstance(argument, Url):
            remote |= {str(file): _Placed(file, parts, _remote_parts(file)) for file, parts in find_remote(argument)}
            continue
        expanded = list(_expand(argument, skipped))
        # Prefer the name of a file to the name of a link to it.
        for file, root in sorted(expanded, key=lambda found_at: _is_linked(*found_at)):
            first, _ = found.setdefault(Path(os.path.realpath(file)), (file, root))
            if _is_linked(file, root) and first != file:
                skipped.append(SkippedFile(path=_below(file, root), reason="link to a file that is read by itself"))
    # os.path.abspath, because Path.resolve follows links.
    local = [
        _Placed(file, file.relative_to(root).parts, Path(os.path.abspath(file)).parts)  # noqa: PTH100
        for file, root in found.values()
    ]
    files = _name([*local, *remote.values()])
    return FoundFiles(sorted(files, key=lambda file: (file.path, str(file.file))), skipped)


def _expand(argument: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, Path]]:
    """Yield the files of one argument and the folder their paths are relative to."""
    try:
        if argument.is_dir():
            for file in _walk(argument, argument, skipped):
                yield file, argument
        elif argument.exists() or argument.is_symlink():
            yield argument, argument.parent
        elif GLOB & set(str(argument)):
            yield from _glob(argument, skipped)
        else:
            raise InputError(f"no such file or folder: {argument}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{argument}: cannot be searched for documents: {reason}") from error


def _glob(pattern: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, Path]]:
    parts = pattern.parts
    fixed = next(index for index, part in enumerate(parts) if GLOB & set(part))
    root = Path(*parts[:fixed])
    matches = [
        match
        for match in sorted(root.glob(str(Path(*parts[fixed:]))))
        if not any(part.startswith(".") for part in match.relative_to(root).parts)
    ]
    if not matches:
        raise InputError(f"no file matches {pattern}")
    for match in matches:
        if _resolves_outside(match, root):
            skipped.append(SkippedFile(path=_below(match, root), reason=_OUTSIDE))
            continue
        for file in _walk(match, root, skipped) if match.is_dir() else [match]:
            yield file, root


def _walk(folder: Path, root: Path, skipped: list[SkippedFile]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        skipped.append(SkippedFile(path=str(error.filename), reason=f"cannot be listed: {error.strerror}"))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted((*names, *folders)):
            path = Path(parent, name)
            if name.startswith(".") or (name in folders and not path.is_symlink()):
                continue
            if _resolves_outside(path, root):
                skipped.append(SkippedFile(path=_below(path, root), reason=_OUTSIDE))
            elif path.is_dir():
                skipped.append(SkippedFile(path=_below(path, root), reason="links to folders are not followed"))
            else:
                yield path


def _is_linked(file: Path, root: Path) -> bool:
    """Return whether the path from a folder to a file in it contains a symbolic link."""
    return os.path.realpath(file) != os.path.join(os.path.realpath(root), file.relative_to(root))  # noqa: PTH118


def _resolves_outside(path: Path, root: Path) -> bool:
    """Return whether a path resolves to a place outside a folder; False for a broken link."""
    return path.exists() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _below(path: Path, root: Path) -> str:
    return portable(path.relative_to(root).as_posix())


def _remote_parts(file: RemoteFile) -> tuple[str, ...]:
    protocol, _, path = str(file).partition("://")
    return (protocol, *path.split("/"))


def _name(rows: Sequence[_Placed]) -> list[FoundFile]:
    """Name files relative to their roots, with parent folders added until the names are unique."""
    depths = [len(row.relative) for row in rows]
    while True:
        names = [portable("/".join(row.full[-depth:])) for row, depth in zip(rows, depths, strict=True)]
        counts = Counter(names)
        clashing = [i for i, name in enumerate(names) if counts[name] > 1 and depths[i] < len(rows[i].full) - 1]
        if not clashing:
            return [FoundFile(row.file, name) for row, name in zip(rows, names, strict=True)]
        for index in clashing:
            depths[index] += 1


def portable(path: str) -> str:
    """Normalise a path to NFC, with undecodable bytes replaced."""
    return unicodedata.normalize("NFC", path.encode("utf-8", "replace").decode())
