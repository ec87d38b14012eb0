"""Paths of data files."""

from pathlib import Path

import pytest

from groundset import data_files
from programs.errors import GroundsetError

ROOT = Path(__file__).parents[2]


def test_checkout_data_is_at_the_root():
    assert data_files.data_path("samples") == ROOT / "data" / "samples"
    assert data_files.data_path().is_dir()


def test_installed_data_is_inside_the_package(tmp_path, monkeypatch):
    package = tmp_path / "groundset"
    (package / "data").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(data_files, "_PACKAGE", package)
    assert data_files.data_path("labels", "a.jsonl") == package / "data" / "labels" / "a.jsonl"


def test_missing_data_raises_error(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "_PACKAGE", tmp_path / "groundset")
    with pytest.raises(GroundsetError, match="install it again"):
        data_files.data_path("labels")
