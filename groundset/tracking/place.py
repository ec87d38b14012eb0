"""Where compiles and runs are tracked: an MLflow store in ``mlruns/``, or the one that MLFLOW_TRACKING_URI names."""

import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from programs.errors import InputError

FOLDER = Path("mlruns")
_SQLITE = "sqlite:///"
_FILES = ("sqlite", "file")


class Place(NamedTuple):
    """Where a store is: its address, and the folder of its files unless a server keeps them."""

    uri: str
    artifacts: Path | None


def tracking_place(*, create: bool) -> Place:
    """Return MLFLOW_TRACKING_URI if it is set, else ``mlruns/mlflow.db`` in the working directory.

    Raises:
        InputError: the variable holds no address, the folder cannot be made; without ``create``, there is no store yet.
    """
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        store_host(uri)
        # MLflow would put the files of a local store into the working directory.
        local = uri.startswith(_SQLITE)
        return Place(uri, Path(uri.removeprefix(_SQLITE)).parent / "artifacts" if local else None)
    folder = FOLDER.absolute()
    if not create and not (folder / "mlflow.db").exists():
        raise InputError(f"nothing is tracked in {folder} yet: groundset compile and groundset generate do it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot track in {folder}: {error.strerror or error}") from error
    return Place(f"{_SQLITE}{folder / 'mlflow.db'}", folder / "artifacts")


def store_host(uri: str) -> str | None:
    """Return who keeps the store at a tracking URI, None if it lies in files of this machine.

    A server on this machine counts as another one: who reads what it keeps is not known here.

    Raises:
        InputError: it is no address.
    """
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise InputError(f"MLFLOW_TRACKING_URI: {without_secrets(uri)} is no address ({error}).") from error
    if parts.scheme.partition("+")[0] in _FILES and parts.netloc in ("", "localhost"):
        return None
    return parts.netloc.rpartition("@")[2] or uri


def without_secrets(text: str) -> str:
    """Return a text whose addresses do not tell users and passwords."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)
