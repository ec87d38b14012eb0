"""Processes that read chunks."""

import os
import subprocess
import sys

import pytest

from groundset.engine import reading

CODE = "import warnings; warnings.warn('resource_tracker: 2 leaked'); warnings.warn('another')"


@pytest.mark.parametrize("before", [None, "default"])
def test_who_cleans_up_after_killed_processes_does_not_warn(monkeypatch, before):
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    if before:
        monkeypatch.setenv("PYTHONWARNINGS", before)
    with reading._ends_unwarned():
        ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert "resource_tracker" not in ran.stderr.replace(CODE, "")
    assert "another" in ran.stderr
    assert os.environ.get("PYTHONWARNINGS") == before
