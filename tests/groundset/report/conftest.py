from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import reported_run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Make a run; see ``reported_run.py``."""
    return partial(reported_run.make_run, tmp_path / "run")
