"""The identity of a run: everything that affects its results, and nothing else."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset import __version__
from groundset.corpus.files import find_documents
from groundset.corpus.parsing.formats import SUFFIXES
from groundset.corpus.remote import RemoteFile, content_digest
from groundset.corpus.user_chunks import chunk_files
from groundset.data_files import data_path
from groundset.engine.config import RunConfig
from groundset.options import option_name
from groundset.sources import Url
from programs.errors import DocumentError, RunMismatchError

Identity = dict[str, Any]

# Raise this number with every change of chunks, prompts, the order of work or rejection rules, because a run started
# before such a change must not be continued after it. `tests/groundset/engine/test_behaviour.py` fails until then.
BEHAVIOUR = 4
_BEHAVING_DATA = ("compiled", "demos", "profiles")  # folders of data/ that affect results: compared by their bytes

# Options that are not compared by their values.
_COMPARED_OTHERWISE = {
    "documents", "chunks",  # by their bytes
    "lm", "critic_lm", "embedder", "parser", "compiled",  # by the hash of their weights or files
    "chunk_size", "merge", "min_length", "options",  # by their resolved values
    "workers", "vector_store", "timeout", "retries",  # do not affect results
    "size",  # may grow, see groundset.engine.growth
}  # fmt: skip


class ModelName(NamedTuple):
    """The name of a model and the hash of its weights; only the hash is compared if it is known."""

    name: str
    sha256: str | None


def identity_of(config: RunConfig) -> Identity:
    """Return the identity without models: configuration and document bytes.

    Raises:
        InputError: a document or folder does not exist.
    """
    chunking = config.corpus_options()
    return {
        **config.model_dump(mode="json", exclude=_COMPARED_OTHERWISE),
        **config.options.compared(),
        "chunk_size": chunking.size,
        "merge": chunking.merge,
        "min_length": chunking.min_length,
        "documents": hash_sources(config.sources),
        "program": ModelName(__version__, program_hash())._asdict(),
    }


def with_models(identity: Identity, **models: ModelName | None) -> Identity:
    """Add models by option name; None for a model that the run does not have."""
    return {**identity, **{option: model and model._asdict() for option, model in models.items()}}


def identity_digest(identity: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an identity."""
    compared = {name: _compared(value) for name, value in identity.items()}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()


def check_same(stored: Mapping[str, Any], given: Mapping[str, Any], folder: Path) -> None:
    """Check that a run was created with the given identity; options missing in ``given`` are not compared.

    Raises:
        RunMismatchError: the message names each differing option with both values.
    """
    differing = [name for name in given if _compared(stored.get(name)) != _compared(given[name])]
    if differing:
        differences = ", ".join(_difference(name, stored.get(name), given[name]) for name in differing)
        raise RunMismatchError(
            f"--out {folder}: the run there was created with {differences}; repeat its options or choose another --out"
        )


def _compared(value: Any) -> Any:
    """Return the value to compare: the hash of weights, else the name."""
    if isinstance(value, dict) and "sha256" in value:
        return value["sha256"] or value["name"]
    return value


def hash_sources(paths: Sequence[Path | Url]) -> str:
    """Return the SHA-256 of the names and contents of all files that can become documents."""
    total, own = hashlib.sha256(), {*paths, *chunk_files(paths)}
    for file, name in find_documents(paths).files:
        if file.suffix.lower() in SUFFIXES or file in own:
            total.update(f"{name}\0{_file_digest(file)}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def program_hash() -> str:
    """Return the SHA-256 of ``BEHAVIOUR`` and of the shipped compiled states and demos."""
    total = hashlib.sha256(f"{BEHAVIOUR}".encode())
    data = data_path()
    for file in sorted(file for folder in _BEHAVING_DATA for file in (data / folder).rglob("*") if file.is_file()):
        total.update(file.relative_to(data).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def _file_digest(file: Path | RemoteFile) -> str:
    if isinstance(file, RemoteFile):
        return content_digest(file)
    try:
        if not file.is_file():
            return "not a regular file"
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError:
        return "unreadable"
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror or error}") from error


def _difference(name: str, stored: Any, given: Any) -> str:
    if name == "documents":
        return "other documents"
    if name == "program":
        return f"another version of groundset ({_shown(stored)}, now {_shown(given)})"
    return f"{option_name(name)} {_shown(stored)} (now {_shown(given)})"


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, dict) and "sha256" in value:
        weights = f" ({value['sha256'][:12]})" if value["sha256"] else ""
        return f"{value['name']}{weights}"
    return ",".join(f"{key}={count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
