import sys
from pathlib import Path

import pytest

# The scripted parts are a plain module, because the kill tests start them in a process of their own.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line appear because the machine is slow; tests of such lines set their own patience."""
    monkeypatch.setattr("groundset.commands._NOTICE_SECONDS", 600)
    monkeypatch.setattr("groundset.progress.PATIENCE_SECONDS", 600)
