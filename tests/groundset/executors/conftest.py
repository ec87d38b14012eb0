import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from groundset.executors import Executor, open_executor

sys.path.insert(0, str(Path(__file__).parent))  # operators.py


@pytest.fixture(scope="module", params=["local", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Processes of this machine, and a Ray cluster on it."""
    if request.param == "ray" and find_spec("ray") is None:
        pytest.skip("needs the extra `groundset[ray]`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setattr("groundset.executors.local.usable_processors", lambda: 2)
        patch.setattr("groundset.executors.ray.usable_processors", lambda: 2)
        with open_executor(request.param) as opened:
            yield opened
