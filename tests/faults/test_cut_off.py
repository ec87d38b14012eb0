"""Files of a run that are cut off or gone: said in one line, or written again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from drivers import Calls, CommandLine, Driver, generate_arguments, model_servers, wait_until

pytestmark = pytest.mark.fault


class Stopped:
    """A run that was killed in the middle, how to continue it, and what it should become."""

    def __init__(self, commands: CommandLine, docs: Path, folder: Path, calls: Calls, servers: list) -> None:
        self._commands, self._docs, self._servers = commands, docs, servers
        self.whole, self._killed = folder / "whole", folder / "killed"
        assert self.go_on(self.whole).ended() == 0
        calls.received.clear()
        driver = self.go_on(self._killed)
        assert wait_until(lambda: len(calls.received) > 12)
        driver.kill()
        assert driver.ended() < 0

    def copy(self, out: Path) -> Path:
        shutil.copytree(self._killed, out)
        return out

    def go_on(self, out: Path) -> Driver:
        return self._commands.start(*generate_arguments(self._docs, out, self._servers, size=6))


@pytest.fixture(scope="module")
def stopped(commands: CommandLine, docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    calls = Calls(0.05)
    with model_servers(calls) as servers:
        yield Stopped(commands, docs, tmp_path_factory.mktemp("runs"), calls, servers)


def stored(out: Path) -> list[Path]:
    """Return the files that hold what a run has stored, whatever they are."""
    names = {"run.json", "samples.jsonl", "rejects.jsonl", ".lock"}
    return [path for path in sorted(out.rglob("*")) if path.is_file() and path.name not in names]


def is_same(out: Path, whole: Path) -> bool:
    return all((out / name).read_bytes() == (whole / name).read_bytes() for name in ("samples.jsonl", "rejects.jsonl"))


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_stored_file_that_is_cut_off_is_reported_or_repaired(stopped: Stopped, tmp_path: Path, share: float) -> None:
    files = [path.relative_to(stopped._killed) for path in stored(stopped._killed) if path.stat().st_size]
    assert files
    for file in files:
        out = stopped.copy(tmp_path / file.name)
        content = (out / file).read_bytes()
        (out / file).write_bytes(content[: int(len(content) * share)])
        driver = stopped.go_on(out)
        if driver.ended() == 0:
            assert is_same(out, stopped.whole), file
        else:
            [error] = driver.errors()
            assert str(out) in error
            assert "keep a copy and start again in another folder" in error, error


@pytest.mark.parametrize("name", ["run.json", "samples.jsonl", "rejects.jsonl"])
def test_derived_file_that_is_cut_off_or_gone_is_written_again(stopped: Stopped, tmp_path: Path, name: str) -> None:
    out = tmp_path / "run"
    shutil.copytree(stopped.whole, out)
    before = (out / name).read_bytes()
    for content in (before[: len(before) // 2], None):
        if content is None:
            (out / name).unlink()
        else:
            (out / name).write_bytes(content)
        assert stopped.go_on(out).ended() == 0
        if name == "run.json":
            assert json.loads((out / name).read_text())["status"] == "complete"
        else:
            assert (out / name).read_bytes() == before
