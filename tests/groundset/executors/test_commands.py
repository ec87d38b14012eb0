"""The option `--engine` of commands."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from groundset.data_files import data_path


def run(*arguments: object) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "groundset", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `groundset[ray]`")
def test_chunks_on_ray_are_the_same_bytes(tmp_path: Path) -> None:
    local, ray = (run("chunk", data_path("samples"), "--engine", engine, "--out", "-") for engine in ("local", "ray"))
    assert (local.returncode, ray.returncode) == (0, 0), ray.stderr
    assert local.stdout == ray.stdout
    assert local.stderr == ray.stderr


def test_unknown_engine_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "chunks.jsonl"
    done = run("chunk", data_path("samples"), "--engine", "spark", "--out", out)
    assert done.returncode == 2
    assert b"--engine spark: choose one of local, ray" in done.stderr
    assert not list(tmp_path.iterdir())
