"""Test untrusted weights in a child process before loading them.

llama.cpp aborts the process for some file headers, and evaluates the chat template of a file without a time limit, also
when it is loaded. Weights that are neither in the catalogue nor shipped are loaded and run once in a child process with
limits on memory and time. Passed tests are recorded by the hash of the file.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.data_files import data_path
from groundset.files import write_text
from groundset.models.cache import cache_home
from groundset.models.catalogue import CATALOGUE
from groundset.models.specs import LocalSpec
from groundset.processors import machine_bytes
from groundset.runtime.gguf_header import header_error
from programs.errors import EngineError, InputError, WeightsError

# Memory limit: the context takes the most, relative to the weights most in the smallest models (98 MB of weights:
# 1.4 GB, measured); the rest is for the runtime itself and the stacks of its threads.
_TIMES_SIZE = 12
_BASE_BYTES = 2 << 30
_PROCESSOR_BYTES = 64 << 20
# Processor time limit: half a gigabyte of weights takes three seconds.
_BASE_SECONDS = 60
_BYTES_PER_SECOND = 20_000_000
_MAX_REASON = 500  # characters


def check_weights(spec: LocalSpec, adapters: Mapping[str, Path], notify: Callable[[str], object]) -> None:
    """Test a model, and each adapter with it, unless they are known or have passed before.

    ``notify`` is called with a line about each test.

    Raises:
        WeightsError: a file cannot be loaded; the message names it.
    """
    if spec.name not in CATALOGUE:
        _check(spec, None, "", notify)
    for sha256, file in adapters.items():
        if not file.is_relative_to(data_path("compiled")):
            _check(spec, file, sha256, notify)


def _check(spec: LocalSpec, adapter: Path | None, adapter_sha256: str, notify: Callable[[str], object]) -> None:
    file = adapter or spec.path
    key = " ".join([spec.sha256, adapter_sha256, metadata.version("xllamacpp")])
    passed = cache_home() / "trials" / hashlib.sha256(key.encode()).hexdigest()[:32]
    if passed.is_file():
        return
    notify(f"Testing {file.name} in a separate process: it is not in the catalogue.")
    if reason := header_error(file) or _test_in_child(spec.path, adapter):
        weights = f"these weights for {spec.name}" if adapter else "this model"
        raise WeightsError(f"{file}: the embedded runtime cannot use {weights}: {reason}")
    with contextlib.suppress(InputError):  # without a writable cache it is tested again next time
        write_text(passed, "")


def _test_in_child(path: Path, adapter: Path | None) -> str:
    """Return why a child process could not load and run a model with an adapter; empty if it could."""
    files = [file.absolute() for file in (path, adapter) if file]
    size = sum(file.stat().st_size for file in files)
    memory = _BASE_BYTES + _PROCESSOR_BYTES * (os.cpu_count() or 1) + _TIMES_SIZE * size
    # Weights are mapped and do not count, except if they are repacked for the processor.
    memory = max(_BASE_BYTES + size, min(memory, machine_bytes() * 3 // 4))
    child = BoundedProcess(f"{__name__}:{load.__name__}", Limits(memory >> 20, output_mb=1))
    try:
        reason: str = child([str(file) for file in files], _BASE_SECONDS + size / _BYTES_PER_SECOND)
    except LimitError as error:
        return f"loading it {error}"
    finally:
        child.end()
    return " ".join(reason.split())[:_MAX_REASON].rstrip(".")


def load(files: list[str]) -> str:
    """Load and run a model with adapters; return the reason of a failure, empty without one."""
    from dspy.lm15 import Config, LM15Error, Message, Request

    from groundset.runtime.embedded import EmbeddedEngine

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
        engine = EmbeddedEngine(path, adapters={str(index): file for index, file in enumerate(adapters)})
        engine.complete(request)
    except (EngineError, LM15Error) as error:
        reason = str(error) or type(error).__name__
        return reason.removeprefix(f"{path.name}: the embedded runtime cannot load this model: ")
    return ""
