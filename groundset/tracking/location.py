"""Location of the MLflow tracking store: per user by default, or per project, option or environment variable."""

import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from platformdirs import user_data_path

from groundset.privacy import without_secrets
from programs.errors import InputError

FOLDER = "mlruns"
_SQLITE = "sqlite:///"
_FILES = ("sqlite", "file")
VARIABLE = "MLFLOW_TRACKING_URI"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)  # two letters or more: not a Windows drive


class StoreLocation(NamedTuple):
    """The location of a store.

    Attributes:
        uri: tracking URI.
        artifacts: artifact folder; None if a server keeps artifacts.
        is_default: whether it is the user's default store.
    """

    uri: str
    artifacts: Path | None
    is_default: bool = False


def tracking_location(tracking: str | None = None, *, create: bool) -> StoreLocation:
    """Return the location of the store.

    In order of precedence: MLFLOW_TRACKING_URI; ``tracking``, a URI or folder (`--tracking`); ``mlruns/`` in the
    working directory, if it exists; ``mlruns/`` in the user's data folder.

    Raises:
        InputError: the address is invalid, the folder cannot be created, or, without ``create``, no store exists.
    """
    project = Path(FOLDER)
    if uri := os.environ.get(VARIABLE):
        return _from_uri(uri)
    if tracking == "":
        raise InputError("--tracking: must not be empty; give an address or a folder")
    if tracking is not None and _ADDRESS.match(tracking):
        return _from_uri(tracking)
    if tracking is not None:
        return _from_folder(Path(tracking).expanduser().absolute(), create)
    if project.is_dir():
        return _from_folder(project.absolute(), create)
    return _from_folder(user_folder(), create)._replace(is_default=True)


def user_folder() -> Path:
    """Return the folder of the user's default store, in `GROUNDSET_HOME` if set."""
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute() / FOLDER
    return user_data_path("groundset", appauthor=False) / FOLDER


def display_uri(uri: str) -> str:
    """Return a store for messages: the folder of a local store, else the address without secrets."""
    file = Path(uri.removeprefix(_SQLITE))
    return str(file.parent) if uri.startswith(_SQLITE) and file.name == "mlflow.db" else without_secrets(uri)


def location_suffix(uri: str, *, is_default: bool) -> str:
    """Return " in STORE" for messages; empty for the default store."""
    return "" if is_default else f" in {display_uri(uri)}"


def store_host(uri: str) -> str | None:
    """Return the host of a tracking URI; None for a local file.

    A server on this machine also has a host, because others may read its data.

    Raises:
        InputError: the address is invalid.
    """
    address = without_secrets(uri)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(f"{VARIABLE} or --tracking: {address} is not a valid address ({error})") from error
    if parts.scheme.partition("+")[0] in _FILES and parts.netloc in ("", "localhost"):
        return None
    return parts.netloc or address


def _from_uri(uri: str) -> StoreLocation:
    store_host(uri)  # checks the address
    # MLflow would put the artifacts of a local store into the working directory.
    local = uri.startswith(_SQLITE)
    return StoreLocation(uri, Path(uri.removeprefix(_SQLITE)).parent / "artifacts" if local else None)


def _from_folder(folder: Path, create: bool) -> StoreLocation:
    if not create and not (folder / "mlflow.db").exists():
        raise InputError(f"{folder}: nothing tracked yet; run `groundset compile` or `groundset generate` first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot track in {folder}: {error.strerror or error}") from error
    return StoreLocation(f"{_SQLITE}{folder / 'mlflow.db'}", folder / "artifacts")
