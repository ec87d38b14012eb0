"""Lets tests import the modules beside them, which --import-mode=importlib does not, and shares
their fixtures.
"""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from scripted_run import opened  # noqa: F401


@pytest.fixture(autouse=True)
def quick(parquet_in_this_process: None) -> None:
    """Start no process for each run that is read."""
