"""Foreign weights, loaded once in a process of their own before this one loads them.

llama.cpp ends the process at some heads of a file, and evaluates the chat template that a file brings for as long as
that runs, at loading too. Weights of the catalogue, and what ships, are known by their hashes. Any other file is tried
in a child with limits on memory and time, together with one completion. What passed is remembered by its hash.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from groundset.data_files import data_path
from groundset.files import write_text
from groundset.models.cache import cache_home
from groundset.models.catalogue import CATALOGUE
from groundset.models.specs import LocalSpec
from groundset.runtime.vocabulary import head_fault
from programs.errors import EngineError, InputError, WeightsError

# Most memory is for the context, and most of that, for its size, in the smallest models: 98 MB of weights take 1.4 GB
# (measured). The others are what the runtime takes for itself, and the stacks of its threads.
_TIMES_SIZE = 12
_ROOM_BYTES = 2 << 30
_PROCESSOR_BYTES = 64 << 20
# Reading half a gigabyte and evaluating some tokens takes two seconds here; a slow disk reads 20 MB in one.
_PATIENCE_S = 60
_SLOWEST_BYTES = 20_000_000
_REFUSED = 3  # the child's exit status if the runtime said why it cannot load the files
_LONGEST = 500  # characters of what a child says


def check_weights(spec: LocalSpec, adapters: Mapping[str, Path], tell: Callable[[str], object]) -> None:
    """Try a model, and each adapter with it, unless they are known or passed before; ``tell`` is told of a trial.

    Raises:
        WeightsError: one of them cannot be loaded; the message names its file.
    """
    if spec.name not in CATALOGUE:
        _check(spec, None, "", tell)
    for sha256, file in adapters.items():
        if not file.is_relative_to(data_path("compiled")):
            _check(spec, file, sha256, tell)


def _check(spec: LocalSpec, adapter: Path | None, adapter_sha256: str, tell: Callable[[str], object]) -> None:
    named = adapter or spec.path
    asked = [spec.sha256, adapter_sha256, metadata.version("xllamacpp")]
    passed = cache_home() / "trials" / hashlib.sha256(" ".join(asked).encode()).hexdigest()[:32]
    if passed.is_file():
        return
    tell(f"Trying {named.name} in a process of its own, since nobody vouches for it.")
    if wrong := head_fault(named) or _trial(spec.path, adapter):
        what = f"these weights for {spec.name}" if adapter else "this model"
        raise WeightsError(f"{named}: the embedded runtime cannot use {what}: {wrong}.")
    with contextlib.suppress(InputError):  # a cache that cannot be written to: it is tried again next time
        write_text(passed, "")


def _trial(path: Path, adapter: Path | None) -> str:
    """Return why a child could not load a model with an adapter and complete with them; nothing if it could."""
    files = [file.absolute() for file in (path, adapter) if file]
    size = sum(file.stat().st_size for file in files)
    patience = _PATIENCE_S + size / _SLOWEST_BYTES
    memory = _ROOM_BYTES + _PROCESSOR_BYTES * (os.cpu_count() or 1) + _TIMES_SIZE * size
    command = [sys.executable, "-m", __name__, json.dumps({"files": list(map(str, files)), "memory": memory})]
    # The child finds these modules wherever this process found them, and its threads do not set memory aside.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MALLOC_ARENA_MAX": "2"}
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=patience,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"it was not loaded within {patience:.0f} seconds"
    if not ended.returncode:
        return ""
    if ended.returncode == _REFUSED:
        return " ".join(ended.stdout.decode("utf-8", "replace").split())[:_LONGEST].rstrip(".")
    if ended.returncode < 0:
        with contextlib.suppress(ValueError):
            return f"loading it ends the process ({signal.Signals(-ended.returncode).name})"
    return f"loading it ends the process (status {ended.returncode})"


def _limit_memory(most: int) -> None:
    """Take no more memory than this, or than three quarters of what the machine has; Windows has no such limit."""
    with contextlib.suppress(ImportError):
        import resource

        has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [most, has * 3 // 4, *([hard] if hard != resource.RLIM_INFINITY else [])]
        with contextlib.suppress(ValueError, OSError):  # macOS refuses limits of this kind
            resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))


def _try(files: list[str]) -> None:
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
    except (EngineError, LM15Error, MemoryError) as error:
        told = str(error) or type(error).__name__
        sys.stdout.write(told.removeprefix(f"{path.name}: the embedded runtime cannot load this model: "))
        sys.stdout.flush()
        os._exit(_REFUSED)
    os._exit(0)  # what the runtime tears down is nobody's concern


if __name__ == "__main__":
    _asked = json.loads(sys.argv[1])
    _limit_memory(_asked["memory"])
    _try(_asked["files"])
