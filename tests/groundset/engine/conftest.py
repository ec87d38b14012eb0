import sys
from pathlib import Path

import pytest

# Tests that kill a run start ``scripted_run`` as a process.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppress messages that appear only on slow machines; tests of these messages set their own delay."""
    monkeypatch.setattr("groundset.commands._NOTICE_SECONDS", 600)
    monkeypatch.setattr("groundset.progress.PATIENCE_SECONDS", 600)
