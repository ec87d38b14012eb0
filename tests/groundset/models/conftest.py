"""A cache of their own for tests without real weights, and one llama.cpp for all that need one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer, serving

from groundset.models.llama import LlamaModel


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The publisher of a toy, whose repository is empty."""
    with serving() as server:
        server.create("you/toy")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture(scope="session")
def llama(smollm2: Path) -> Iterator[Any]:
    model = LlamaModel(smollm2, context_tokens=1024)
    yield model
    model.close()
