"""What every test gets: no network by accident, and DSPy as if it had just been imported."""

import copy
import importlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset import privacy

# With --import-mode=importlib a test cannot import the modules beside it otherwise.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "egress")]
pytest_plugins = ["not_tested"]

# DSPy's disk cache would otherwise carry answers from one run of the tests to the next.
_dspy_cache = tempfile.TemporaryDirectory(prefix="groundset-dspy-")
os.environ["DSPY_CACHEDIR"] = _dspy_cache.name
# What tests compile and generate is tracked where nobody looks, not in the checkout.
_tracked = tempfile.TemporaryDirectory(prefix="groundset-mlflow-")
os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{_tracked.name}/mlflow.db"
os.environ["XDG_DATA_HOME"] = _tracked.name
# Nothing listens on this port: a test that asks the Hub without meaning to fails at once. Offline mode itself
# stays off, so that tests can serve a Hub of their own: the Hub's client reads it once, when it is imported, so it is
# imported here, before a test runs a command that switches it on.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
for _switch in ("GROUNDSET_HUB", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ.pop(_switch, None)
privacy.set_defaults(hub=True)
importlib.import_module("huggingface_hub.constants")


class WordEncoder:
    """Embeds texts by the words that they share, in no time; ``sha256`` is whatever weights it stands for."""

    def __init__(self, sha256: str) -> None:
        self.sha256 = sha256

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode(texts)


@pytest.fixture(scope="session")
def word_encoder() -> Callable[[str], WordEncoder]:
    return WordEncoder


@pytest.fixture(autouse=True)
def fresh_dspy() -> Iterator[None]:
    """Undo, after each test, what it did to DSPy's settings and cache."""
    _reset_dspy()
    yield
    _reset_dspy()


def _reset_dspy() -> None:
    """Reset DSPy if it has been imported; tests that do without it stay quick."""
    if "dspy" not in sys.modules:
        return
    import dspy

    settings = sys.modules["dspy.dsp.utils.settings"]  # the package's attribute of that name is an object
    settings.config_owner_thread_id = None
    settings.config_owner_async_task = None
    settings.main_thread_config.clear()
    settings.main_thread_config.update(copy.deepcopy(settings.DEFAULT_CONFIG))
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The weights of the smallest language model, pulled on first use."""
    from groundset.models import pull

    return pull("smollm2-135m")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Playwright's browser, headless; see ``browser.py``. No test of the module can use asyncio beside it."""
    import browser

    with browser.running() as started:
        yield started


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[Any]]:
    """Start a server of language models on this machine; see ``model_server.py``."""
    import model_server

    from groundset.models import servers

    monkeypatch.delenv("GROUNDSET_API_KEY", raising=False)
    servers.check_served.cache_clear()  # another server may have had the same port
    return model_server.serving


@pytest.fixture
def egress(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], list[str]]]:
    """Cut this process, and those that it starts, off from every other machine.

    What it yields tells which ones were asked for, and forgets them. Any that the test did not ask about fail it.
    """
    import egress_guard

    notes = tmp_path_factory.mktemp("egress") / "hosts"
    notes.touch()
    for name in ("http_proxy", "https_proxy", "all_proxy"):  # behind one, nothing else would be looked up
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(egress_guard.__file__).parent), *sys.path]))
    monkeypatch.setenv(egress_guard.VARIABLE, str(notes))
    egress_guard.install()

    def asked() -> list[str]:
        hosts = list(dict.fromkeys(notes.read_text(encoding="utf-8").split()))
        notes.write_text("", encoding="utf-8")
        return hosts

    yield asked
    assert asked() == []
