"""Where compiles and runs are tracked: one MLflow store for a user, unless a project or the environment has its own."""

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
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)  # a drive of Windows is one letter


class Place(NamedTuple):
    """Where a store is.

    Attributes:
        uri: its address.
        artifacts: the folder of its files, None if a server keeps them.
        usual: whether it is the user's own store, which nobody named.
    """

    uri: str
    artifacts: Path | None
    usual: bool = False


def tracking_place(asked: str | None = None, *, create: bool) -> Place:
    """Return the place of the store.

    It is MLFLOW_TRACKING_URI if that is set, else ``asked``, the address or folder that `--tracking` names, else
    ``mlruns/`` of the working directory if that folder is there, else ``mlruns/`` among the data of the user.

    Raises:
        InputError: what is named is no address, the folder cannot be made; without ``create``, there is no store yet.
    """
    here = Path(FOLDER)
    if uri := os.environ.get(VARIABLE):
        return _at(uri)
    if asked == "":
        raise InputError("--tracking: it is empty; name an address or a folder")
    if asked is not None and _ADDRESS.match(asked):
        return _at(asked)
    if asked is not None:
        return _in(Path(asked).expanduser().absolute(), create)
    return _in(here.absolute(), create) if here.is_dir() else _in(user_folder(), create)._replace(usual=True)


def user_folder() -> Path:
    """Return the folder of the user's own store: in `GROUNDSET_HOME` if that is set."""
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute() / FOLDER
    return user_data_path("groundset", appauthor=False) / FOLDER


def shown(uri: str) -> str:
    """Return a store for messages: the folder of a local one, else its address without secrets."""
    file = Path(uri.removeprefix(_SQLITE))
    return str(file.parent) if uri.startswith(_SQLITE) and file.name == "mlflow.db" else without_secrets(uri)


def where(uri: str, *, usual: bool) -> str:
    """Return " in " and the store, or nothing if it is the user's own one."""
    return "" if usual else f" in {shown(uri)}"


def store_host(uri: str) -> str | None:
    """Return the host of the store at a tracking URI, None if it is a local file.

    A server on this machine counts as another one: who reads what it keeps is not known here.

    Raises:
        InputError: it is no address.
    """
    address = without_secrets(uri)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(f"{VARIABLE} or --tracking: {address} is no address ({error})") from error
    if parts.scheme.partition("+")[0] in _FILES and parts.netloc in ("", "localhost"):
        return None
    return parts.netloc or address


def _at(uri: str) -> Place:
    store_host(uri)
    # MLflow would put the files of a local store into the working directory.
    local = uri.startswith(_SQLITE)
    return Place(uri, Path(uri.removeprefix(_SQLITE)).parent / "artifacts" if local else None)


def _in(folder: Path, create: bool) -> Place:
    if not create and not (folder / "mlflow.db").exists():
        raise InputError(f"nothing is tracked in {folder} yet: groundset compile and groundset generate do it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot track in {folder}: {error.strerror or error}") from error
    return Place(f"{_SQLITE}{folder / 'mlflow.db'}", folder / "artifacts")
