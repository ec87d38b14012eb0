import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # drivers.py

from drivers import CommandLine, write_documents


@pytest.fixture(scope="session")
def kills() -> int:
    """How many drivers are killed in all; `KILLS=1000 make test-faults` kills more."""
    return int(os.environ.get("KILLS", "100"))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """The command line, whose processes are counted."""
    commands = CommandLine(tmp_path_factory.mktemp("commands"))
    yield commands
    commands.close()


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small documents."""
    return write_documents(tmp_path_factory.mktemp("docs") / "docs", 40)
