import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from groundset.executors import Executor, open_executor

sys.path.insert(0, str(Path(__file__).parent))  # operators.py


@contextmanager
def _opened(name: str) -> Iterator[Executor]:
    if name == "ray" and find_spec("ray") is None:
        pytest.skip("needs the extra `groundset[ray]`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setattr("groundset.executors.local.usable_processors", lambda: 2)
        patch.setattr("groundset.executors.ray.usable_processors", lambda: 2)
        with open_executor(name) as executor:
            yield executor


@pytest.fixture(scope="module", params=["local", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Processes of this machine, and a Ray cluster on it."""
    with _opened(request.param) as executor:
        yield executor


@pytest.fixture(scope="module")
def on_ray() -> Iterator[Executor]:
    """A Ray cluster on this machine."""
    with _opened("ray") as executor:
        yield executor
