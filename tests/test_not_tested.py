"""The summary of skipped tests at the end of a test run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.parametrize("page", ["report", "review"])
def test_page(page):
    pytest.skip("no Chromium on this machine: `apt-get install chromium`")

@pytest.mark.skipif(True, reason="needs a C compiler")
def test_native():
    pass

def test_works():
    pass
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_skipped_tests_are_counted_by_reason(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "not_tested", "-c", os.devnull, "--rootdir", tmp_path]
    ran = subprocess.run([*command, *options, tmp_path], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert "2 tests: no Chromium on this machine: `apt-get install chromium`" in lines
    assert "1 test: needs a C compiler" in lines
