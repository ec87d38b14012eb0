"""What every test gets: no network by accident, and DSPy as if it had just been imported."""

import copy
import importlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from groundset import privacy

# With --import-mode=importlib a test cannot import the modules beside it otherwise.
sys.path += [str(Path(__file__).parent)]

# DSPy's disk cache would otherwise carry answers from one run of the tests to the next.
_dspy_cache = tempfile.TemporaryDirectory(prefix="groundset-dspy-")
os.environ["DSPY_CACHEDIR"] = _dspy_cache.name
# What tests compile and generate is tracked where nobody looks, not in the checkout.
_tracked = tempfile.TemporaryDirectory(prefix="groundset-mlflow-")
os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{_tracked.name}/mlflow.db"
os.environ["XDG_DATA_HOME"] = _tracked.name
# Nothing listens on this port: a test that asks the Hub without meaning to fails at once. Offline
# mode itself stays off, so that tests can serve a Hub of their own: the Hub's client reads it once,
# when it is imported.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
for _switch in ("GROUNDSET_HUB", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "COLUMNS"):
    os.environ.pop(_switch, None)
privacy.set_defaults()
importlib.import_module("huggingface_hub.constants")


class WordEncoder:
    """Embeds texts by the words that they share, in no time; ``sha256`` is whatever weights it
    stands for.
    """

    name, dimension = "words", 64

    def __init__(self, sha256: str = "0" * 64) -> None:
        self.sha256 = sha256

    def replica(self) -> "WordEncoder":
        return self

    def encode(
        self, texts: Sequence[str], *, on_done: Callable[[int], object] = lambda count: None
    ) -> np.ndarray:
        on_done(len(texts))
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % self.dimension] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture(scope="session")
def word_encoder() -> Callable[..., WordEncoder]:
    return WordEncoder


@pytest.fixture(autouse=True)
def fresh_dspy() -> Iterator[None]:
    """Undo, after each test, what it did to DSPy's settings and cache."""
    _reset_dspy()
    yield
    _reset_dspy()


def _reset_dspy():
    """Reset DSPy if it has been imported; tests that do without it stay quick."""
    if "dspy" not in sys.modules:
        return
    import dspy

    settings = sys.modules[
        "dspy.dsp.utils.settings"
    ]  # the package's attribute of that name is an object
    settings.config_owner_thread_id = None
    settings.config_owner_async_task = None
    settings.main_thread_config.clear()
    settings.main_thread_config.update(copy.deepcopy(settings.DEFAULT_CONFIG))
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)


@pytest.fixture
def parquet_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the corpus of a run without a bounded process, whose start takes a second."""
    from pyarrow import parquet

    def rows(file, **limits):
        yield from ((str(file), row) for row in parquet.read_table(file).to_pylist())

    monkeypatch.setattr("groundset.rows.parquet_rows", rows)


@pytest.fixture
def status_of() -> Callable[..., object]:
    """Run a command in this process, and return its exit status."""
    from groundset import cli

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main([str(each) for each in arguments])
        return left.value.code

    return run


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The weights of the smallest language model, pulled on first use."""
    from groundset.models.fetch import pull

    return pull("smollm2-135m")
