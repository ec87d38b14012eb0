"""Test weights of strangers in a child process before they are loaded in this one.

llama.cpp aborts the process for some file headers, and evaluates the chat template of a file without a time limit, also
when it is loaded. Weights that are neither in the catalogue nor shipped are loaded and run once in a child process with
limits on memory and time. Passed tests are recorded by the hash of the file.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.files import data_path, write_text
from groundset.models.cache import cache_home, file_sha256
from groundset.models.catalogue import CATALOGUE
from groundset.models.gguf import header_error
from programs.errors import GroundsetError, InputError, UnknownModelError

# Memory limit: the context takes the most, relative to the weights most in the smallest models (98 MB of weights:
# 1.4 GB, measured); the rest is for the runtime itself and the stacks of its threads.
_TIMES_SIZE = 12
_BASE_BYTES = 2 << 30
_PROCESSOR_BYTES = 64 << 20
# Processor time limit: half a gigabyte of weights takes three seconds.
_BASE_SECONDS = 60
_BYTES_PER_SECOND = 20_000_000
_MAX_REASON = 500  # characters


def check_weights(model: Path, adapters: Sequence[Path], notify: Callable[[str], object]) -> None:
    """Test a model, and each adapter with it, unless they are known or have passed before.

    Args:
        model: the GGUF file of the model.
        adapters: the files of its adapters.
        notify: called with a line about each test.

    Raises:
        UnknownModelError: a file cannot be loaded; the message names it.
    """
    if file_sha256(model) not in {entry.sha256 for entry in CATALOGUE.values()}:
        _check(model, None, notify)
    for adapter in adapters:
        if not adapter.resolve().is_relative_to(data_path("compiled").resolve()):
            _check(model, adapter, notify)


def _check(model: Path, adapter: Path | None, notify: Callable[[str], object]) -> None:
    file = adapter or model
    key = " ".join([file_sha256(model), file_sha256(file), metadata.version("xllamacpp")])
    passed = cache_home() / "trials" / hashlib.sha256(key.encode()).hexdigest()[:32]
    if passed.is_file():
        return
    notify(f"testing {file.name} in a separate process: it is not in the catalogue")
    if reason := header_error(file) or _test_in_child(model, adapter):
        raise UnknownModelError(f"{file}: llama.cpp cannot use this file: {reason}")
    with contextlib.suppress(InputError):  # without a writable cache it is tested again next time
        write_text(passed, "")


def _test_in_child(model: Path, adapter: Path | None) -> str:
    """Return why a child process could not load and run a model with an adapter; empty if it could."""
    files = [file.absolute() for file in (model, adapter) if file]
    size = sum(file.stat().st_size for file in files)
    memory = _BASE_BYTES + _PROCESSOR_BYTES * (os.cpu_count() or 1) + _TIMES_SIZE * size
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Weights are mapped and do not count, except if they are repacked for the processor.
    memory = max(_BASE_BYTES + size, min(memory, machine * 3 // 4))
    child = BoundedProcess(f"{__name__}:{load.__name__}", Limits(memory >> 20, output_mb=1))
    try:
        reason: str = child([str(file) for file in files], _BASE_SECONDS + size / _BYTES_PER_SECOND)
    except LimitError as error:
        return f"loading it {error}"
    finally:
        child.end()
    return " ".join(reason.split())[:_MAX_REASON].rstrip(".")


def load(files: list[str]) -> str:
    """Load and run a model with an adapter; return the reason of a failure, empty without one."""
    from dspy.lm15 import Config, LM15Error, Message, Request

    from groundset.models.llama import LlamaModel

    path, *adapters = map(Path, files)
    request = Request(
        model="trial",
        system="You answer questions about passages in one short sentence.",
        messages=(
            Message.user("Passage: Ebbing lies on a river.\nQuestion: Where does Ebbing lie?"),
            Message.assistant("On a river."),
            Message.user("Passage: The ferry leaves at seven each morning.\nQuestion: When does the ferry leave?"),
        ),
        config=Config(max_tokens=1, temperature=0.0, extensions={"adapter": "0"} if adapters else None),
    )
    try:
        LlamaModel(path, adapters={str(index): file for index, file in enumerate(adapters)}).complete(request)
    except (GroundsetError, LM15Error) as error:
        return str(error).split("cannot load this model: ")[-1] or type(error).__name__
    return ""
