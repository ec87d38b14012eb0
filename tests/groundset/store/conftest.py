import pytest


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppress messages that appear only on slow machines."""
    monkeypatch.setattr("groundset.commands._NOTICE_SECONDS", 600)
    monkeypatch.setattr("groundset.progress.PATIENCE_SECONDS", 600)
