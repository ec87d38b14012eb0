"""Expand files, folders and globs to files with portable paths."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from programs.errors import InputError

_GLOB = frozenset("*?[")
_OUTSIDE = "link that leads out of the folder"


class SkippedFile(NamedTuple):
    """A skipped file and the reason."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A file, and the path that names the document, relative to the given folder."""

    file: Path
    path: str


def find_documents(paths: Sequence[str | Path]) -> tuple[list[FoundFile], list[SkippedFile]]:
    """Expand files, folders and globs to the files in the order of their paths, without the hidden ones in folders.

    A symbolic link in a folder is followed only to a file in the same folder, so that a folder from someone else cannot
    expose other files. A link passed as an argument is followed. What is skipped is returned, too.

    Raises:
        InputError: a path does not exist, or a glob matches nothing.
    """
    skipped: list[SkippedFile] = []
    found: dict[Path, tuple[Path, Path]] = {}  # by what they lead to: the file, and the folder that names it
    for argument in map(Path, paths):
        try:
            expanded = list(_expand(argument, skipped))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{argument}: cannot be searched for documents: {reason}") from error
        for file, root in sorted(expanded, key=lambda each: each[0].is_symlink()):  # a file gives its name, not a link
            first, _ = found.setdefault(Path(os.path.realpath(file)), (file, root))
            if file.is_symlink() and first != file:
                skipped.append(SkippedFile(_below(file, root), "link to a file that is read by itself"))
    return sorted(_named(list(found.values())), key=lambda each: (each.path, str(each.file))), skipped


def _expand(argument: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, Path]]:
    """Yield the files of one argument and the folder their paths are relative to."""
    if argument.is_dir():
        yield from ((file, argument) for file in _walk(argument, argument, skipped))
    elif argument.exists() or argument.is_symlink():
        yield argument, argument.parent
    elif _GLOB & set(str(argument)):
        fixed = next(index for index, part in enumerate(argument.parts) if _GLOB & set(part))
        root = Path(*argument.parts[:fixed])
        matches = sorted(root.glob(str(Path(*argument.parts[fixed:]))))
        matches = [match for match in matches if not _is_hidden(match.relative_to(root))]
        if not matches:
            raise InputError(f"no file matches {argument}")
        for match in matches:
            if _is_outside(match, root):
                skipped.append(SkippedFile(_below(match, root), _OUTSIDE))
            else:
                yield from ((file, root) for file in (_walk(match, root, skipped) if match.is_dir() else [match]))
    else:
        raise InputError(f"no such file or folder: {argument}")


def _walk(folder: Path, root: Path, skipped: list[SkippedFile]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        skipped.append(SkippedFile(_below(Path(error.filename), root), f"cannot be listed: {error.strerror}"))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for path in (Path(parent, name) for name in sorted((*names, *links)) if not name.startswith(".")):
            if _is_outside(path, root):
                skipped.append(SkippedFile(_below(path, root), _OUTSIDE))
            elif path.is_dir():
                skipped.append(SkippedFile(_below(path, root), "links to folders are not followed"))
            else:
                yield path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _is_outside(path: Path, root: Path) -> bool:
    """Return whether a path resolves to a place outside a folder; False for a broken link."""
    return path.exists() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _below(path: Path, root: Path) -> str:
    return portable(path.relative_to(root).as_posix())


def _named(files: Sequence[tuple[Path, Path]]) -> list[FoundFile]:
    """Name files relative to their roots, with parent folders added until the names are unique."""
    parts = [file.absolute().parts for file, _ in files]
    depths = [len(file.relative_to(root).parts) for file, root in files]
    while True:
        names = [portable("/".join(whole[-depth:])) for whole, depth in zip(parts, depths, strict=True)]
        counts = Counter(names)
        clashing = [n for n, name in enumerate(names) if counts[name] > 1 and depths[n] < len(parts[n]) - 1]
        if not clashing:
            return [FoundFile(file, name) for (file, _), name in zip(files, names, strict=True)]
        for n in clashing:
            depths[n] += 1


def portable(path: str) -> str:
    """Normalise a path to NFC, with undecodable bytes replaced."""
    return unicodedata.normalize("NFC", path.encode("utf-8", "replace").decode())
