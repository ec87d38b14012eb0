"""Sentence embeddings from the catalogue's model or any sentence-transformers model."""

import copy
import hashlib
import json
import os
import pickle
import queue
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset import privacy
from groundset.models.catalogue import CATALOGUE, ModelEntry, near_matches
from groundset.models.download import PullProgress
from groundset.models.hub import hub_answers
from groundset.models.pull import pull
from groundset.processors import usable_processors
from programs.errors import DamagedModelError, ModelError, UnknownModelError

_QUIET_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"}
_LOAD_ERRORS = (OSError, ValueError, RuntimeError, KeyError)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_UNSAFE_PICKLE = "contains damaged weights or a pickle that could run code; convert it to safetensors"
_CORPUS_BATCH = 16
# Texts are truncated before tokenising to save memory. Words have about four characters per token, runs of spaces in
# tables more.
_CHARACTERS_PER_TOKEN = 200
_LENGTH_WARNING = "sequence-length-is-longer-than-the-specified-maximum"


class Embedder:
    """A loaded embedding model; safe to share between threads.

    Attributes:
        name: The name, folder or Hub name of the model.
        sha256: The hash of its weights.
        dimension: The length of a vector.
        tokenizer: The model's tokenizer, for counting and chunking.
    """

    def __init__(self, name: str, sha256: str, model: Any, threads: int = 1) -> None:
        """Wrap a `SentenceTransformer` that is already on its device."""
        self.name = name
        self.sha256 = sha256
        self.tokenizer: Any = model.tokenizer
        self._model = model
        self._copies: list[Any] = []  # share the weights
        self._threads = threads
        self._lock = threading.Lock()  # fast tokenizers are not thread-safe
        self.dimension = self._encode(["dimension"], 1).shape[1]

    def encode(self, texts: Sequence[str], *, batch_size: int = 32) -> NDArray[np.float32]:
        """Return one unit-length float32 row per text, in order; text beyond the model's window is ignored.

        Equal calls give equal bits. The row of a text may differ in the last bits (about 1e-7) when it is encoded
        among other texts.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._encode(list(texts), batch_size)

    def encode_corpus(
        self, texts: Sequence[str], *, workers: int | None = None, on_done: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed many texts on all cores, while no language model runs; see ``encode``.

        Batches contain texts of similar length and do not depend on the number of workers, so equal texts give equal
        bits. Each worker uses one thread, because threads that share a batch spin while they wait.

        Args:
            texts: The texts.
            workers: The number of concurrent batches; by default the number of cores.
            on_done: Called after each batch with its number of texts, from any thread.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        batches = [order[start : start + _CORPUS_BATCH] for start in range(0, len(order), _CORPUS_BATCH)]
        callback_lock = threading.Lock()

        def embed(model: Any, batch: list[int]) -> None:
            vectors[batch] = _encode(model, [texts[index] for index in batch], _CORPUS_BATCH)
            if on_done:
                with callback_lock:
                    on_done(len(batch))

        requested = 1 if self._model.device.type != "cpu" else (workers or usable_processors())
        with self._lock:
            _run_parallel(embed, batches, self._replicas(max(1, min(requested, len(batches)))))
        return vectors

    def _replicas(self, count: int) -> list[Any]:
        """Return the model and copies of it that share its weights, because fast tokenizers are not thread-safe."""
        shared = {id(tensor): tensor for tensor in (*self._model.parameters(), *self._model.buffers())}
        self._copies += [copy.deepcopy(self._model, dict(shared)) for _ in range(count - 1 - len(self._copies))]
        return [self._model, *self._copies[: count - 1]]

    def _encode(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        with self._lock, _torch_threads(self._threads):
            return _encode(self._model, texts, batch_size)


def _encode(model: Any, texts: list[str], batch_size: int) -> NDArray[np.float32]:
    window = model.max_seq_length
    max_length = None if window is None else window * _CHARACTERS_PER_TOKEN
    vectors = model.encode(
        [text[:max_length] for text in texts],
        batch_size=batch_size,
        show_progress_bar=False,
        convert_to_numpy=True,
        normalize_embeddings=True,
    )
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _run_parallel(embed: Callable[[Any, list[int]], None], batches: Sequence[list[int]], models: Sequence[Any]) -> None:
    """Embed the batches with one thread per model; the first error stops all."""
    import torch

    idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for model in models:
        idle.put(model)

    def run(batch: list[int]) -> None:
        model = idle.get()
        try:
            embed(model, batch)
        finally:
            idle.put(model)

    with _torch_threads(1), ThreadPoolExecutor(len(models), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for _ in pool.map(run, batches):
            pass


def load_embedder(
    spec: str, *, device: str = "cpu", threads: int = 1, progress: PullProgress | None = None
) -> Embedder:
    """Load an embedder: a catalogue model, a folder or a sentence-transformers model.

    A catalogue model is pulled if it is missing. Others are loaded from their folder or the Hugging Face cache, or
    downloaded if `GROUNDSET_HUB=1` is set. Models with custom code are rejected.

    Args:
        spec: The name or folder of the model.
        device: A torch device; results are reproducible on the CPU.
        threads: Threads of `encode`. With one thread, results do not depend on the number of cores, and torch's
            threads do not spin while they wait: next to a busy language model two threads were forty times slower.
        progress: Shows the progress of a download.
    """
    entry = CATALOGUE.get(spec)
    if entry is not None and entry.role != "embedder":
        raise UnknownModelError(f"{spec} is a {entry.role}, not an embedder (`groundset models list`)")
    if entry is None and spec.startswith((".", "/", "~")) and not Path(spec).expanduser().is_dir():
        raise UnknownModelError(f"{spec!r}: not a folder with a sentence-transformers model")
    where = str(pull(spec, progress=progress) if entry else Path(spec).expanduser())
    for key, value in _QUIET_ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    with _quiet_transformers():
        model = _load(spec, entry, where, device)
        model.eval()
        model.tokenizer.deprecation_warnings[_LENGTH_WARNING] = True  # silences it: chunkers tokenise long texts
        return Embedder(spec, entry.sha256 if entry else _weights_sha256(model), model, threads)


def _load(spec: str, entry: ModelEntry | None, where: str, device: str) -> Any:
    from huggingface_hub import constants
    from sentence_transformers import SentenceTransformer

    if Path(where).is_dir():
        return _from_folder(spec, Path(where), device)
    try:
        try:
            return SentenceTransformer(where, device=device, local_files_only=True, trust_remote_code=False)
        except _LOAD_ERRORS:
            if entry is not None:
                raise
        if not hub_answers():
            reason = "the Hub cannot be reached"
            if constants.HF_HUB_OFFLINE and privacy.took_the_hub_offline():
                reason = "downloads are disabled; set GROUNDSET_HUB=1 to enable them"
            raise ModelError(
                f"embedder {spec!r} is neither a folder nor in the Hugging Face cache, and {reason}{near_matches(spec)}"
            )
        return SentenceTransformer(where, device=device, trust_remote_code=False)
    except pickle.UnpicklingError as error:
        raise ModelError(f"embedder {spec!r} {_UNSAFE_PICKLE}") from error
    except _LOAD_ERRORS as error:
        raise ModelError(f"embedder {spec!r} cannot be loaded{near_matches(spec)}: {_first_line(error)}") from error


def _from_folder(spec: str, folder: Path, device: str) -> Any:
    """Load a model from untrusted files.

    Raises:
        DamagedModelError: they cannot be loaded; the message names the damaged file if it is known.
    """
    from sentence_transformers import SentenceTransformer

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickles
            return SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    except pickle.UnpicklingError as error:
        files = sorted(file for file in folder.rglob("*") if file.suffix in _PICKLES)
        raise DamagedModelError(f"{files[0] if files else folder} {_UNSAFE_PICKLE}") from error
    except Exception as error:  # the libraries raise arbitrary exceptions for damaged files
        if damaged := _damaged_file(folder):
            raise DamagedModelError(f"{damaged} is damaged: {_first_line(error)}") from error
        message = f"embedder {spec!r} cannot be loaded{near_matches(spec)}: {_first_line(error)}"
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


def _weights_sha256(model: Any) -> str:
    """Return a hash of the names and bytes of all tensors, independent of the file format."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Silence transformers in the block."""
    from transformers import utils

    logging: Any = utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
