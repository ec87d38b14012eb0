"""A disk that fills up: one clear line, nothing half-written, and the run goes on when there is room again."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from drivers import Calls, CommandLine, Driver, generate_arguments, model_servers, wait_until

pytestmark = [
    pytest.mark.fault,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root"),
]
WORKERS = 3


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting a small disk is not permitted")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Write until nothing more can be written."""
    with (disk / "filler").open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(1 << 12))
        except OSError:
            pass


def is_whole(out: Path) -> bool:
    """Return whether every file that is there can be read to its end."""
    for name in ("samples.jsonl", "rejects.jsonl"):
        if (out / name).exists():
            [json.loads(line) for line in (out / name).read_text().splitlines()]
    if (out / "run.json").exists():
        json.loads((out / "run.json").read_text())
    return True


@pytest.mark.parametrize("moment", ["Reading documents", "Preparing chunks", "attempts", "samples"])
def test_full_disk(commands: CommandLine, docs: Path, disk: Path, tmp_path: Path, moment: str) -> None:
    calls, out = Calls(), disk / "run"
    with model_servers(calls) as servers:

        def start(folder: Path) -> Driver:
            return commands.start(*generate_arguments(docs, folder, servers, size=6, workers=WORKERS))

        whole = start(tmp_path / "whole")
        assert whole.ended() == 0, whole.text()
        total = len(calls.received)
        calls.received.clear()
        driver = start(out)
        if moment in ("attempts", "samples"):
            target = 8 if moment == "attempts" else total - WORKERS
            assert wait_until(lambda: len(calls.received) >= target)
        else:
            assert wait_until(lambda: f"{moment}: " in driver.text())
        fill(disk)
        assert driver.ended() in (1, 2), driver.text()
        [error] = driver.errors()
        assert "No space left" in error or "disk is full" in error, error
        assert is_whole(out)
        (disk / "filler").unlink()
        driver = start(out)
        assert driver.ended() == 0, driver.text()
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert {path.name for path in out.iterdir()} == {
        "run.json", "run.sqlite", "samples.jsonl", "rejects.jsonl", ".lock",
    }  # fmt: skip
    assert calls.repeated() <= WORKERS
