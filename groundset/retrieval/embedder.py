"""Sentence embeddings from the catalogue's model or any sentence-transformers model."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.models.catalogue import CATALOGUE
from groundset.models.download import PullProgress
from groundset.models.pull import pull
from groundset.retrieval.loading import check_folder, load_transformer
from groundset.retrieval.parallel import Replicas, torch_threads
from programs.errors import ModelError, UnknownModelError

_CORPUS_BATCH = 16
# Texts are truncated before tokenising to save memory. Words have about four characters per token, runs of spaces in
# tables more.
_CHARACTERS_PER_TOKEN = 200


class Embedder:
    """A loaded embedding model; safe to share between threads.

    Attributes:
        name: The name, folder or Hub name of the model.
        sha256: The hash of its weights.
        dimension: The length of a vector.
        tokenizer: The model's tokenizer of the library tokenizers, for counting and chunking.
    """

    def __init__(self, name: str, sha256: str, model: Any, threads: int = 1) -> None:
        """Wrap a `SentenceTransformer` that is already on its device."""
        self.name = name
        self.sha256 = sha256
        self.tokenizer: Any = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
        self._model = model
        self._replicas = Replicas(model)
        self._threads = threads
        self._lock = threading.Lock()  # fast tokenizers are not thread-safe
        self.dimension = self._encode(["dimension"], 1).shape[1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the name to another process, which loads the same weights itself."""
        return _load_same, (self.name, self.sha256, self._threads)

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

        with self._lock:
            self._replicas.run(embed, batches, workers)
        return vectors

    def _encode(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        with self._lock, torch_threads(self._threads):
            return _encode(self._model, texts, batch_size)


def _encode(model: Any, texts: list[str], batch_size: int) -> NDArray[np.float32]:
    window = model.max_seq_length  # infinite for static embeddings
    max_length = window * _CHARACTERS_PER_TOKEN if isinstance(window, int) else None
    vectors = model.encode(
        [text[:max_length] for text in texts],
        batch_size=batch_size,
        show_progress_bar=False,
        convert_to_numpy=True,
        normalize_embeddings=True,
    )
    return np.ascontiguousarray(vectors, dtype=np.float32)


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
    if entry is None:
        check_folder("embedder", spec)
    where = str(pull(spec, progress=progress) if entry else Path(spec).expanduser())
    model = load_transformer("embedder", spec, where, device)
    return Embedder(spec, entry.sha256 if entry else _weights_sha256(model), model, threads)


def _load_same(name: str, sha256: str, threads: int) -> Embedder:
    """Load an embedder in another process.

    Raises:
        ModelError: its weights are others there.
    """
    loaded = load_embedder(name, threads=threads)
    if loaded.sha256 != sha256:
        raise ModelError(f"{name}: a node of the cluster has other weights; copy the same model to all")
    return loaded


def _weights_sha256(model: Any) -> str:
    """Return a hash of the names and bytes of all tensors, independent of the file format."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
