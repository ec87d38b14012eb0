"""Pushing of runs in memory."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from evaluation_sets import private_run

import groundset
from groundset.exports import hub


@pytest.fixture
def push(monkeypatch: pytest.MonkeyPatch) -> Callable[..., hub.Pushed]:
    """Push a run in memory, by default that of two documents."""

    def push(run=None, **options):
        monkeypatch.setattr(hub, "open_run", lambda folder: run or private_run())
        return groundset.push("run", **{"repo": "you/demo", "licence": "cc-by-4.0", **options})

    return push


@pytest.fixture
def card(push: Callable[..., hub.Pushed], tmp_path: Path) -> Callable[..., str]:
    """Return the card of a dry run in the folder ``dry``."""

    def card(*given, **options):
        shutil.rmtree(tmp_path / "dry", ignore_errors=True)
        push(*given, **options, out=tmp_path / "dry")
        return (tmp_path / "dry" / "README.md").read_text("utf-8")

    return card
