"""Functions in child processes with limits of time, memory and output."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from refusal import refuses

from groundset.bounded import BoundedProcess, LimitError

LIMITS = {"memory_mb": 200, "output_mb": 1}


@pytest.fixture
def work(tmp_path, monkeypatch) -> Iterator[BoundedProcess]:
    """Evaluate Python expressions in a child process."""
    source = (
        "import os, signal, sys\nkept = []\ndef work(expression):\n    return eval(expression)\n"
    )
    (tmp_path / "worker.py").write_text(source)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    )
    process = BoundedProcess("worker:work", **LIMITS)
    yield process
    process.end()


def test_one_process_serves_many_calls(work):
    first = work("os.getpid()", 9)
    assert first != os.getpid()
    assert work("[os.getpid(), 'ä\\udc80']", 9) == [first, "ä\udc80"]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("len(bytearray(300 << 20))", "takes more than 200 MB of memory"),
        ("all(iter(lambda: 1, 0))", "takes more than 1 s of processor time"),
        ("sum(map(pow, [3] * 9, [10 ** 7] * 9))", "takes more than 1 s of processor time"),
        ("'a' * (2 << 20)", "gives more than 1 MB of text"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", r"crashes its process \(SIGSEGV\)"),
        ("os.abort()", "aborts its process or takes more than .* of memory"),
        ("os._exit(3)", r"crashes its process \(status 3\)"),
    ],
)
def test_process_over_a_limit_is_ended_and_replaced(work, expression, reason):
    assert work("1", 9) == 1
    with refuses(f"^{reason}$", LimitError):
        work(expression, 1)
    assert work("2", 9) == 2


def test_call_that_waits_too_long_is_ended(work, monkeypatch):
    monkeypatch.setattr("groundset.bounded._WAITING", 2)
    with refuses(r"^takes more than 1 s$", LimitError):
        work("__import__('time').sleep(99)", 0.5)


def test_killed_from_another_thread(work):
    assert work("1", 9) == 1
    Timer(0.3, work.kill).start()
    with pytest.raises(LimitError):
        work("__import__('time').sleep(99)", 99)
    with refuses("was ended", LimitError):
        work("1", 9)


def test_memory_kept_by_earlier_calls_does_not_count(work):
    keep = "kept.append(bytearray(120 << 20)) or len(kept)"
    assert [work(keep, 9), work(keep, 9)] == [1, 1], "the second call gets a new process"


def test_call_whose_process_was_killed_is_done_once_again(work, tmp_path):
    kill = "os.kill(os.getpid(), signal.SIGKILL)"
    once = (
        f"os.path.exists({str(tmp_path / 'killed')!r}) or (open({str(tmp_path / 'killed')!r}, 'w'),"
        f" {kill})"
    )
    assert work(once, 9) is True
    with refuses(r"crashes its process \(SIGKILL\)", LimitError):
        work(kill, 9)
    assert work("1", 9) == 1


def test_error_keeps_its_traceback(work):
    with refuses("ZeroDivisionError: division by zero", RuntimeError) as caught:
        work("1 / 0", 9)
    assert "in work" in caught.value.__notes__[0]
    assert work("1", 9) == 1


def test_child_output_does_not_affect_the_answer(work):
    assert work("[print('noise', flush=True), os.write(1, b'noise'), sys.stdin.read()]", 9) == [
        None,
        5,
        "",
    ]


def test_child_ignores_interrupts(work):
    assert work("os.kill(os.getpid(), signal.SIGINT) or 1", 9) == 1


def test_child_ends_with_its_parent(tmp_path):
    script = (
        "from groundset.bounded import BoundedProcess\nimport os, signal\n"
        "process = BoundedProcess('os:strerror', memory_mb=200, output_mb=1)\nprocess(1, 9)\n"
        "print(process._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while Path(f"/proc/{int(done.stdout)}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
