"""However the process that uses an executor ends, its processes end too, and nothing is printed or left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = """
import signal, sys
from pathlib import Path
from operators import Sleep
from groundset.executors import open_executor, local, ray
local.usable_processors = ray.usable_processors = lambda: 2
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without it
with open_executor(sys.argv[1]) as executor:
    try:
        list(executor.map(Sleep(Path(sys.argv[2])), range(9), parts=2))
    except KeyboardInterrupt:
        sys.exit(130)
"""
SECONDS = 60


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_running(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_their_parent(tmp_path: Path, engine: str, number: signal.Signals) -> None:
    if engine == "ray" and find_spec("ray") is None:
        pytest.skip("needs the extra `groundset[ray]`")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    shared = Path("/dev/shm")
    before = set(shared.iterdir())
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, engine, tmp_path],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # a terminal sends Ctrl-C to the whole group
    )
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    if number == signal.SIGINT:
        os.killpg(parent.pid, number)
    else:
        parent.send_signal(number)
    output, _ = parent.communicate(timeout=SECONDS)
    assert parent.returncode == (130 if number == signal.SIGINT else -number)
    children = [int(process) for file in tmp_path.iterdir() for process in file.name.split("-")]
    assert len(children) == 4
    wait_for(lambda: not any(map(is_running, children)))
    assert output == b""
    left = {file.name for file in set(shared.iterdir()) - before}
    assert not {name for name in left if name.startswith(("joblib", "sem.", "plasma", "ray"))}
