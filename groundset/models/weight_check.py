"""Test weights of strangers in a child process before they are loaded in this one.

llama.cpp aborts the process for some file headers, and evaluates the chat template of a file without a time limit, also
when it is loaded. Passed tests are recorded by the hash of the file.
"""

import contextlib
import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.files import data_path, write_text
from groundset.models.cache import cache_home, file_sha256
from groundset.models.catalogue import CATALOGUE
from programs.errors import GroundsetError, InputError, UnknownModelError

# The context takes the most memory, relative to the weights most in the smallest models (98 MB of weights: 1.4 GB,
# measured); half a gigabyte of weights takes three seconds of processor time.
_TIMES_SIZE, _BASE_MB = 12, 4096
_BASE_SECONDS, _MB_PER_SECOND = 60, 20
_MAX_REASON = 500  # characters


def check_weights(model: Path, adapter: Path | None, notify: Callable[[str], object]) -> None:
    """Load and run a model, with an adapter if one is given, unless it is known or has passed before.

    Raises:
        UnknownModelError: the file cannot be loaded; the message names it.
    """
    file = adapter or model
    is_shipped = adapter is not None and adapter.resolve().is_relative_to(data_path("compiled").resolve())
    if is_shipped or (adapter is None and file_sha256(model) in {entry.sha256 for entry in CATALOGUE.values()}):
        return
    key = " ".join([file_sha256(model), file_sha256(file), metadata.version("xllamacpp")])
    passed = cache_home() / "trials" / hashlib.sha256(key.encode()).hexdigest()[:32]
    if passed.is_file():
        return
    notify(f"testing {file.name} in a separate process: it is not in the catalogue")
    size_mb = model.stat().st_size >> 20
    child = BoundedProcess(f"{__name__}:{load.__name__}", Limits(_BASE_MB + _TIMES_SIZE * size_mb, output_mb=1))
    try:
        reason = child([str(model), str(adapter or "")], _BASE_SECONDS + size_mb / _MB_PER_SECOND)
    except LimitError as error:
        reason = f"loading it {error}"
    finally:
        child.end()
    if reason:
        raise UnknownModelError(f"{file}: llama.cpp cannot use this file: {' '.join(reason.split())[:_MAX_REASON]}")
    with contextlib.suppress(InputError):  # without a writable cache it is tested again next time
        write_text(passed, "")


def load(files: list[str]) -> str:
    """Load and run a model with an adapter, if there is one; return the reason of a failure, empty without one."""
    from dspy.lm15 import Config, LM15Error, Message, Request

    from groundset.models.llama import LlamaModel
    from groundset.models.texts import ThinkingError

    path, adapter = files
    config = Config(max_tokens=1, temperature=0.0, extensions={"adapter": "tested"} if adapter else None)
    turns = (Message.user("Where does Ebbing lie?"), Message.assistant("On a river."), Message.user("Which one?"))
    try:
        model = LlamaModel(Path(path), adapters={"tested": Path(adapter)} if adapter else None)
        model.complete(Request(model="trial", system="Answer in one short sentence.", messages=turns, config=config))
    except ThinkingError:  # one token is no thought
        pass
    except (GroundsetError, LM15Error) as error:
        return str(error).split("cannot load this model: ")[-1] or type(error).__name__
    return ""
