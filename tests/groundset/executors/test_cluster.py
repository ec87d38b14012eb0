"""A Ray cluster of two nodes, one of which is taken away while it works."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from model_server import serving

from groundset.store.run_store import RunStore

pytestmark = [
    pytest.mark.fault,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `groundset[ray]`"),
]
PLACES = 300  # documents of one chunk each, more than a slice that is embedded at once


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for number in range(PLACES):
        name = hashlib.sha256(str(number).encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
        facts = " ".join(f"The {thing} of {name[:8].title()} is {number} years old." for thing in ("mill", "quay"))
        (folder / f"{number:03}.md").write_text(f"# {name[:8].title()}\n\n{facts}\n")
    return folder


@contextmanager
def _cluster() -> Iterator[tuple[str, Callable[[str], None], int]]:
    path = os.pathsep.join(sys.path)
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("cluster.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env=os.environ | {"PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def order(what: str) -> None:
            process.stdin.write(f"{what}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        try:
            yield process.stdout.readline().strip(), order, process.pid
        finally:
            process.communicate(timeout=120)


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, Callable[[str], None], int]]:
    """The address of a cluster, a function that adds or removes its second node, and the process of the cluster."""
    with _cluster() as cluster:
        yield cluster


def start(*arguments: object, printed: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "groundset", *map(str, arguments)]
    path = os.pathsep.join(sys.path)
    with printed.open("wb") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=stream, env=os.environ | {"PYTHONPATH": path})


def run_arguments(documents: Path, out: Path, spec: str, engine: str) -> list[object]:
    options = ("--size", 2, "--mode", "free", "--parser", "none", "--min-length", 0, "--no-track", "--workers", 2)
    return ["generate", documents, "--out", out, "--lm", spec, "--engine", engine, *options]


def stored(out: Path) -> tuple[object, ...]:
    with RunStore.read(out) as store:
        return store.chunks(), store.contexts(), hashlib.sha256(store.vectors().tobytes()).hexdigest()


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def actors(cluster: int) -> list[int]:
    """Return the actors on the nodes that a process has started; other clusters may run on this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::_Served" in (folder / "cmdline").read_bytes() and parent(parent(int(folder.name))) == cluster:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def local(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """What a run on local processes stores."""
    folder = tmp_path_factory.mktemp("local")
    with serving() as server:
        arguments = run_arguments(documents, folder / "run", server.spec, "local")
        start(*arguments, printed=folder / "printed").wait()
    return stored(folder / "run")


@pytest.mark.parametrize("phase", ["Reading documents", "Preparing chunks"])
def test_node_is_taken_away(cluster, documents: Path, local: tuple[object, ...], tmp_path: Path, phase: str) -> None:
    address, order, nodes = cluster
    order("add")
    out = tmp_path / "run"
    with serving() as server:
        process = start(*run_arguments(documents, out, server.spec, f"ray={address}"), printed=tmp_path / "printed")
        lines = (tmp_path / "printed").read_text
        wait_for(lambda: f"\n{phase}" in lines())
        wait_for(lambda: bool(actors(nodes)) or process.poll() is not None)
        time.sleep(0.5)
        working = len(actors(nodes))
        order("remove")
        process.wait()
    print(f"{phase}: {working} actors worked when a node was taken away")
    assert process.returncode in (0, 3), lines()
    assert "error" not in lines()
    assert stored(out) == local
    wait_for(lambda: not actors(nodes))


def test_killed_driver_leaves_no_actors(cluster, documents: Path, tmp_path: Path) -> None:
    address, order, nodes = cluster
    order("add")
    out, printed = tmp_path / "out", tmp_path / "printed"
    out.mkdir()
    process = start("chunk", documents, "--out", out / "chunks.jsonl", "--engine", f"ray={address}", printed=printed)
    wait_for(lambda: bool(actors(nodes)) or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not actors(nodes))
    assert not list(out.iterdir())
    order("remove")
