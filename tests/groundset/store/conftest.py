import pytest


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line appear because the machine is slow."""
    monkeypatch.setattr("groundset.commands._NOTICE_SECONDS", 600)
    monkeypatch.setattr("groundset.progress.PATIENCE_SECONDS", 600)
