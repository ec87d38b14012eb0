"""Trials of untrusted weights: loaded once in a child process before this one loads them.

llama.cpp ends the process at some heads of a file, and evaluates the chat template that a file brings for as long as
that runs, at loading too. Weights of the catalogue, and what ships, are known by their hashes. Any other file is tried
in a child with limits on memory and time, together with one completion. What passed is remembered by its hash.
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
from groundset.runtime.gguf_header import head_fault
from programs.errors import EngineError, InputError, WeightsError

# Most memory is for the context, and most of that, for its size, in the smallest models: 98 MB of weights take 1.4 GB
# (measured). The others are what the runtime takes for itself, and the stacks of its threads.
_TIMES_SIZE = 12
_ROOM_BYTES = 2 << 30
_PROCESSOR_BYTES = 64 << 20
# Of processor time: half a gigabyte is loaded and evaluates the words of a trial in three seconds.
_PATIENCE_S = 60
_BYTES_A_SECOND = 20_000_000
_LONGEST = 500  # characters of what a child says


def check_weights(spec: LocalSpec, adapters: Mapping[str, Path], notify: Callable[[str], object]) -> None:
    """Try a model, and each adapter with it, unless they are known or passed before.

    ``notify`` is called with a line about each trial.

    Raises:
        WeightsError: one of them cannot be loaded; the message names its file.
    """
    if spec.name not in CATALOGUE:
        _check(spec, None, "", notify)
    for sha256, file in adapters.items():
        if not file.is_relative_to(data_path("compiled")):
            _check(spec, file, sha256, notify)


def _check(spec: LocalSpec, adapter: Path | None, adapter_sha256: str, notify: Callable[[str], object]) -> None:
    named = adapter or spec.path
    decisive = [spec.sha256, adapter_sha256, metadata.version("xllamacpp")]
    passed = cache_home() / "trials" / hashlib.sha256(" ".join(decisive).encode()).hexdigest()[:32]
    if passed.is_file():
        return
    notify(f"Trying {named.name} in a process of its own, since nobody vouches for it.")
    if wrong := head_fault(named) or _trial(spec.path, adapter):
        what = f"these weights for {spec.name}" if adapter else "this model"
        raise WeightsError(f"{named}: the embedded runtime cannot use {what}: {wrong}")
    with contextlib.suppress(InputError):  # a cache that cannot be written to: it is tried again next time
        write_text(passed, "")


def _trial(path: Path, adapter: Path | None) -> str:
    """Return why a child could not load and run a model with an adapter; empty if it could."""
    files = [file.absolute() for file in (path, adapter) if file]
    size = sum(file.stat().st_size for file in files)
    memory = _ROOM_BYTES + _PROCESSOR_BYTES * (os.cpu_count() or 1) + _TIMES_SIZE * size
    # Weights are mapped and do not count, but some processors have them arranged anew.
    memory = max(_ROOM_BYTES + size, min(memory, machine_bytes() * 3 // 4))
    child = BoundedProcess(f"{__name__}:{load.__name__}", Limits(memory >> 20, output_mb=1))
    try:
        fault: str = child([str(file) for file in files], _PATIENCE_S + size / _BYTES_A_SECOND)
    except LimitError as error:
        return f"loading it {error}"
    finally:
        child.end()
    return " ".join(fault.split())[:_LONGEST].rstrip(".")


def load(files: list[str]) -> str:
    """Load and run a model with adapters; return why that failed, empty if it did not."""
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
        engine = EmbeddedEngine(path, adapters={str(place): file for place, file in enumerate(adapters)})
        engine.complete(request)
    except (EngineError, LM15Error) as error:
        reason = str(error) or type(error).__name__
        return reason.removeprefix(f"{path.name}: the embedded runtime cannot load this model: ")
    return ""
