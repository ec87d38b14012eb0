"""Loading of sentence-transformers models: from folders, the Hugging Face cache or the Hub."""

import json
import logging
import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from groundset import privacy
from groundset.models.catalogue import near_matches
from groundset.models.hub import hub_answers
from programs.errors import DamagedModelError, ModelError, UnknownModelError

ModelKind = Literal["embedder", "reranker"]

_CLASSES: dict[ModelKind, str] = {"embedder": "SentenceTransformer", "reranker": "CrossEncoder"}
_QUIET_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"}
_LOAD_ERRORS = (OSError, ValueError, RuntimeError, KeyError)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_UNSAFE_PICKLE = "contains damaged weights or a pickle that could run code; convert it to safetensors"


def load_transformer(kind: ModelKind, spec: str, where: str, device: str) -> Any:
    """Load a model in evaluation mode; models with custom code are rejected.

    Args:
        kind: what it is used as.
        spec: its name in messages.
        where: its folder, or its name on the Hub. It is downloaded if `GROUNDSET_HUB=1` is set.
        device: a torch device.

    Raises:
        ModelError: it cannot be loaded.
    """
    for key, value in _QUIET_ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    with _quiet_transformers():
        model = _load(kind, spec, where, device)
        model.eval()
    return model


def check_folder(kind: ModelKind, spec: str) -> None:
    """Check that a specification that looks like a path is a folder.

    Raises:
        UnknownModelError: it is not.
    """
    if spec.startswith((".", "/", "~")) and not Path(spec).expanduser().is_dir():
        what = "sentence-transformers model" if kind == "embedder" else "cross-encoder of sentence-transformers"
        raise UnknownModelError(f"{spec!r}: not a folder with a {what}")


def _load(kind: ModelKind, spec: str, where: str, device: str) -> Any:
    import sentence_transformers
    from huggingface_hub import constants

    loaded = getattr(sentence_transformers, _CLASSES[kind])
    if Path(where).is_dir():
        return _from_folder(kind, loaded, spec, Path(where), device)
    try:
        try:
            return loaded(where, device=device, local_files_only=True, trust_remote_code=False)
        except _LOAD_ERRORS:
            pass
        if not hub_answers():
            reason = "the Hub cannot be reached"
            if constants.HF_HUB_OFFLINE and privacy.took_the_hub_offline():
                reason = "downloads are disabled; set GROUNDSET_HUB=1 to enable them"
            raise ModelError(
                f"{kind} {spec!r} is neither a folder nor in the Hugging Face cache, and {reason}{near_matches(spec)}"
            )
        return loaded(where, device=device, trust_remote_code=False)
    except pickle.UnpicklingError as error:
        raise ModelError(f"{kind} {spec!r} {_UNSAFE_PICKLE}") from error
    except _LOAD_ERRORS as error:
        raise ModelError(f"{kind} {spec!r} cannot be loaded{near_matches(spec)}: {_first_line(error)}") from error


def _from_folder(kind: ModelKind, loaded: Any, spec: str, folder: Path, device: str) -> Any:
    """Load a model from untrusted files.

    Raises:
        DamagedModelError: they cannot be loaded; the message names the damaged file if it is known.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickles
            return loaded(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    except pickle.UnpicklingError as error:
        files = sorted(file for file in folder.rglob("*") if file.suffix in _PICKLES)
        raise DamagedModelError(f"{files[0] if files else folder} {_UNSAFE_PICKLE}") from error
    except Exception as error:  # the libraries raise arbitrary exceptions for damaged files
        if damaged := _damaged_file(folder):
            raise DamagedModelError(f"{damaged} is damaged: {_first_line(error)}") from error
        message = f"{kind} {spec!r} cannot be loaded{near_matches(spec)}: {_first_line(error)}"
        raise DamagedModelError(message) from error


def _damaged_file(folder: Path) -> Path | None:
    """Return the first damaged file of a model, None without one."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(folder.rglob("*")):
        try:
            if file.suffix == ".safetensors":
                with safe_open(file, framework="np"):
                    pass
            elif file.suffix == ".json" and not isinstance(json.loads(file.read_bytes()), dict | list):
                return file
        except (SafetensorError, OSError, ValueError, RecursionError):
            return file
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Silence transformers and sentence-transformers in the block."""
    from transformers import utils

    log = logging.getLogger("sentence_transformers")
    level, verbosity, bars = log.level, utils.logging.get_verbosity(), utils.logging.is_progress_bar_enabled()
    log.setLevel(logging.ERROR)
    utils.logging.set_verbosity_error()
    utils.logging.disable_progress_bar()
    try:
        yield
    finally:
        log.setLevel(level)
        utils.logging.set_verbosity(verbosity)
        if bars:
            utils.logging.enable_progress_bar()
