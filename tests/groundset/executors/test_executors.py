"""Executors: the same results in the same order, whatever dies."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from operators import DIES, DIES_ONCE, FAILS, REFUSES, Sleep, Square

from groundset.executors import LOCAL, Executor, open_executor, ray
from groundset.executors.base import WorkerAnswer, WorkerDiedError, map_on_workers
from programs.errors import ExecutorError, InputError


def test_results_keep_the_order_of_the_items_and_an_operator_is_loaded_once_in_each_process(
    executor: Executor, tmp_path: Path
) -> None:
    (tmp_path / "died").touch()
    found = list(executor.map(Square(tmp_path), range(40), parts=2))
    assert [value for value, _ in found] == [number * number for number in range(40)]
    loaded = (tmp_path / "loaded").read_text().split()
    assert len(loaded) == len(set(loaded)) == 2
    assert {str(process) for _, process in found} <= set(loaded)


def test_item_whose_process_died_is_done_again(executor: Executor, tmp_path: Path) -> None:
    found = [value for value, _ in executor.map(Square(tmp_path), range(12), parts=2)]
    assert found == [number * number for number in range(12)]
    assert (tmp_path / "died").exists()
    assert len((tmp_path / "loaded").read_text().split()) >= 2


def test_item_that_kills_two_processes_is_named(
    executor: Executor, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExecutorError, match=f"^number {DIES}: its process died twice"):
        list(executor.map(Square(tmp_path), [1, DIES, 2], parts=2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [(FAILS, RuntimeError, "KeyError: 'no such number'"), (REFUSES, InputError, "the number is refused")],
)
def test_error_of_an_operator_is_raised(
    executor: Executor, tmp_path: Path, item: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        list(executor.map(Square(tmp_path), [1, item, 2], parts=2))
    assert str(raised.value) == message


def test_few_items_are_begun_ahead_and_closing_ends_the_work(executor: Executor, tmp_path: Path) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with closing(executor.map(Square(tmp_path), items(), parts=2)) as found:
        assert next(found)[0] == 0
    assert len(taken) < 20


def test_work_can_be_ended_while_a_result_is_awaited(executor: Executor, tmp_path: Path) -> None:
    def check() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(executor.map(Sleep(tmp_path), range(4), parts=2, check=check))


def test_without_items_no_process_is_started(executor: Executor, tmp_path: Path) -> None:
    assert list(executor.map(Square(tmp_path), [], parts=2)) == []
    assert not (tmp_path / "loaded").exists()


def test_small_work_is_done_in_this_process(tmp_path: Path) -> None:
    (tmp_path / "died").touch()
    assert list(LOCAL.map(Square(tmp_path), [DIES_ONCE], parts=1.9)) == [(25, os.getpid())]


def test_ray_that_was_imported_for_other_clusters_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(ray, "_is_local", False)
    with pytest.raises(InputError, match=r"^--engine ray: Ray was imported before .* name ray=ADDRESS$"):
        open_executor("ray").__enter__()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("spark", "--engine spark: choose one of local, ray"),
        ("", "--engine : choose one of local, ray"),
        ("local=here", "--engine local=here: it takes no address"),
        ("ray=", "--engine ray=: name the address, such as ray=HOST:6379"),
    ],
)
def test_wrong_engine_is_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        open_executor(spec)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "127.0.0.1:1",
            "no cluster answers there (Connection refused); check the address, and that `ray start --head`",
        ),
        ("no host:6379", "no cluster answers there (Name or service not known); check the address"),
        ("ray://127.0.0.1:10001", "is for Ray Client; join this machine to the cluster by `ray start --address="),
    ],
)
def test_address_without_a_cluster_is_one_clear_error_at_once(address: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        open_executor(f"ray={address}").__enter__()
    assert str(raised.value).startswith(f"--engine ray={address}: {message}")


def test_cause_of_a_failed_connection_or_actor_is_named() -> None:
    versions = "The cluster was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\nThis process on node 10.0.0.2 was"
    assert ray._reason(RuntimeError(f"Version mismatch: {versions} started with:\n    Ray: 2.59.0\n")) == (
        "Version mismatch: The cluster was started with: Ray: 2.60.0 Python: 3.11.7 This process on node 10.0.0.2 was "
        "started with: Ray: 2.59.0"
    )
    died = RuntimeError("The actor died because of an error.\n  at line 3\nModuleNotFoundError: No module named 'x'\n")
    assert ray._reason(died) == "ModuleNotFoundError: No module named 'x'"


class Waiting:
    """A worker that never becomes ready, as on a cluster that has lost a node."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def ready(self) -> None:
        self._closed.wait()
        raise WorkerDiedError("closed")

    def answer(self, item: int) -> WorkerAnswer:
        raise AssertionError

    def close(self) -> None:
        self._closed.set()


class DyingOnce(Waiting):
    """A worker that dies at its first item."""

    def ready(self) -> None:
        pass

    def answer(self, item: int) -> WorkerAnswer:
        raise WorkerDiedError("node lost")


class Counting(DyingOnce):
    """A worker that works."""

    def answer(self, item: int) -> WorkerAnswer:
        time.sleep(0.01)
        return WorkerAnswer(item)


def test_others_do_the_work_of_a_process_that_is_not_replaced(tmp_path: Path) -> None:
    workers = iter([Counting(), DyingOnce(), Waiting()])
    assert list(map_on_workers(lambda: next(workers), Square(tmp_path), range(20), 2, None)) == list(range(20))


def test_missing_ray_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(ray, "_is_local", True)
    with pytest.raises(InputError, match=r"needs Ray; install it with `pip install 'groundset\[ray\]'`$"):
        open_executor("ray").__enter__()


def test_ray_is_imported_only_for_its_engine(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text("The mill was built by two brothers in 1887. " * 10)
    script = (
        "import sys, groundset\n"
        "groundset.chunk(sys.argv[1])\n"
        "from groundset.executors import open_executor\n"
        "with open_executor('local'): pass\n"
        "print(sorted({'ray', 'joblib', 'loky'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_ray_on_this_machine_listens_on_the_loopback_address_only(executor: Executor, tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil", reason="needs psutil")
    (tmp_path / "died").touch()
    sockets = []
    with closing(executor.map(Square(tmp_path), range(40), parts=2)) as found:
        next(found)
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # an actor of another test
                sockets += [each for each in process.net_connections() if each.status == "LISTEN"]
    assert {each.laddr.ip for each in sockets} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    assert bool(sockets) != executor.is_local
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
