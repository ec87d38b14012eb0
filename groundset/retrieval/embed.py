"""Sentence embeddings: the embedder of the catalogue, a folder, or a sentence-transformers model of
the Hub.

| specification | meaning |
|---|---|
| `all-minilm-l6-v2` | an embedder of the catalogue, pulled on first use |
| `path/to/folder` | a sentence-transformers model |
| `hf/<owner>/<repo>` | a repository of the Hugging Face Hub, downloaded once, without pickles |

Models are untrusted files: code in them is not run, and pickles are not executed.
"""

import copy
import hashlib
import logging
import pickle
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groundset.models.catalogue import CATALOGUE, cache_home, file_sha256, get_entry
from groundset.models.fetch import Notify, explained, online, pull, say_err
from groundset.options import near_matches
from groundset.programs.errors import ModelError, UnknownModelError, first_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Vectors = NDArray[np.float32]

_BATCH = 16  # texts of similar length
_KEPT = 4096  # vectors: judges embed the same passage again for every question about it
# Texts are truncated before they become tokens, to save memory. Words have about four characters a
# token, runs of spaces in tables more.
_CHARACTERS_PER_TOKEN = 200
_HUB_NAME = re.compile(r"hf/(\w[\w.-]*/\w[\w.-]*)", re.ASCII)
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_COMPLETE = ".complete"
_WEIGHTS = ("*.safetensors", "*.bin")
_UNSAFE = "damaged weights, or a pickle that could run code; convert it to safetensors"


class Embedder:
    """A loaded embedding model; safe to share between threads."""

    def __init__(self, name: str, sha256: str, model: Any) -> None:
        """Wrap a ``SentenceTransformer``; use :func:`open_embedder` instead."""
        self.name, self.sha256 = name, sha256  # as the user calls it, and its weights
        self._model = model
        self._lock = threading.Lock()  # fast tokenizers are not thread-safe
        self._kept: dict[str, Vectors] = {}
        self.dimension: int = self._embed(["dimension"]).shape[1]  # the length of a vector

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the name to another process, which loads the same weights itself."""
        return _open_same, (self.name, self.sha256)

    def replica(self) -> "Embedder":
        """Return an embedder that shares the weights, to be used by another thread at the same
        time.
        """
        shared = {
            id(tensor): tensor for tensor in (*self._model.parameters(), *self._model.buffers())
        }
        return Embedder(self.name, self.sha256, copy.deepcopy(self._model, shared))

    def encode(
        self, texts: Sequence[str], *, on_done: Callable[[int], object] = lambda _: None
    ) -> Vectors:
        """Return one float32 row of length one for each text; text beyond the model's window is
        ignored.

        Each text is embedded once, in batches of similar length, on one thread: more of them spin
        while they wait, next to a busy language model forty times as long. The row of a text may
        differ in the last bits (about 1e-7) when it is embedded among others. ``on_done`` gets the
        number of texts of each batch.
        """
        with self._lock, _one_thread():
            new = sorted({*texts} - self._kept.keys(), key=lambda text: (-len(text), text))
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                self._kept.update(zip(batch, self._embed(batch), strict=True))
                on_done(len(batch))
            found = np.array([self._kept[text] for text in texts], np.float32)
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]  # the oldest
        return found.reshape(len(texts), self.dimension)

    def _embed(self, texts: list[str]) -> Vectors:
        window = self._model.max_seq_length  # infinite for static embeddings
        longest = window * _CHARACTERS_PER_TOKEN if isinstance(window, int) else None
        vectors = self._model.encode(
            [text[:longest] for text in texts],
            batch_size=_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return np.ascontiguousarray(vectors, dtype=np.float32)


def open_embedder(spec: str, *, notify: Notify = say_err) -> Embedder:
    """Load an embedder on the processor, by what the module's table lists; ``notify`` gets lines
    about a download.

    Raises:
        UnknownModelError: there is no such model, or its files cannot be loaded.
        ModelError: it cannot be downloaded or verified.
    """
    folder = _embedder_folder(spec, notify)
    sha256 = CATALOGUE[spec].sha256 if spec in CATALOGUE else _sha256(folder)
    return Embedder(spec, sha256, _load(spec, folder, "SentenceTransformer"))


@cache
def open_tokenizer(spec: str) -> "Tokenizer":
    """Load the tokenizer of an embedder, for texts of any length.

    Raises:
        UnknownModelError: there is no such model, or its tokenizer cannot be loaded.
        ModelError: it cannot be downloaded or verified.
    """
    from tokenizers import Tokenizer

    folder = _embedder_folder(spec, say_err)
    file = next(folder.rglob("tokenizer.json"), folder / "tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no others
        raise UnknownModelError(f"{file} cannot be loaded: {first_line(error)}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _embedder_folder(spec: str, notify: Notify) -> Path:
    if spec in CATALOGUE:
        get_entry(spec, "embedder")
        return pull(spec, notify=notify)
    known = f"neither an embedder of the catalogue{near_matches(spec, CATALOGUE)} nor"
    return _folder(spec, f"--embedder {spec}: {known}", notify)


class Reranker:
    """A loaded cross-encoder, which reads a query and a text together."""

    def __init__(self, name: str, sha256: str, model: Any) -> None:
        """Wrap a ``CrossEncoder``; use :func:`open_reranker` instead."""
        self.name, self.sha256, self._model = name, sha256, model
        self._lock = threading.Lock()

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers a query."""
        pairs = [(query, text) for text in texts]
        with self._lock, _one_thread():
            return [float(score) for score in self._model.predict(pairs, show_progress_bar=False)]


def open_reranker(spec: str, *, notify: Notify = say_err) -> Reranker:
    """Load a cross-encoder with one score, from a folder or the Hub.

    Raises:
        UnknownModelError: there is no such model, or its files cannot be loaded.
        ModelError: it cannot be downloaded.
    """
    folder = _folder(spec, f"--reranker {spec}: not", notify)
    model = _load(spec, folder, "CrossEncoder")
    if model.num_labels != 1:
        raise UnknownModelError(f"--reranker {spec}: gives {model.num_labels} scores; name another")
    return Reranker(spec, _sha256(folder), model)


def _folder(spec: str, otherwise: str, notify: Notify) -> Path:
    if named := _HUB_NAME.fullmatch(spec):
        return _pull_repository(named[1], notify)
    folder = Path(spec).expanduser()
    if not folder.is_dir():
        raise UnknownModelError(
            f"{otherwise} a folder with a sentence-transformers model;"
            " hf/<owner>/<repo> names one of the Hugging Face Hub"
        )
    return folder


def _open_same(name: str, sha256: str) -> Embedder:
    """Load an embedder in another process.

    Raises:
        ModelError: its weights are others there.
    """
    embedder = open_embedder(name)
    if embedder.sha256 != sha256:
        raise ModelError(
            f"{name}: another process has other weights of this name; copy the same model"
            " everywhere"
        )
    return embedder


def _pull_repository(repo: str, notify: Notify) -> Path:
    """Download a repository of the Hub once, and return its folder."""
    from huggingface_hub import HfApi, snapshot_download

    folder = cache_home() / "models" / "hf" / repo
    if not (folder / _COMPLETE).exists():
        notify(f"downloading {repo} from the Hugging Face Hub")
        with online():
            try:
                commit = HfApi().model_info(repo, timeout=15.0).sha
                snapshot_download(
                    repo, revision=commit, local_dir=folder, allow_patterns=_HUB_FILES
                )
            except Exception as error:
                raise explained(repo, error) from error
        (folder / _COMPLETE).touch()
    return folder


def _sha256(folder: Path) -> str:
    """Return the hash of the weights in a folder: of the file, or of the hashes of several."""
    files = next((found for pattern in _WEIGHTS if (found := sorted(folder.rglob(pattern)))), [])
    hashes = [file_sha256(file) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _load(spec: str, folder: Path, kind: str) -> Any:
    """Load a model from untrusted files.

    Raises:
        UnknownModelError: they cannot be loaded.
    """
    import sentence_transformers
    from transformers.utils import logging as messages

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            model = getattr(sentence_transformers, kind)(
                str(folder), device="cpu", local_files_only=True, trust_remote_code=False
            )
    except pickle.UnpicklingError as error:
        raise UnknownModelError(
            f"{next(iter(sorted(folder.rglob('*.bin'))), folder)}: {_UNSAFE}"
        ) from error
    except Exception as error:  # the libraries raise arbitrary exceptions for damaged files
        raise UnknownModelError(f"{spec} cannot be loaded: {first_line(error)}") from error
    model.eval()
    return model


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread of torch in the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
