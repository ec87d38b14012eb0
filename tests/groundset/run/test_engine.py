"""The engine: attempts, decisions, stops, failures."""

import os
import resource
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from dspy.utils.exceptions import ContextWindowExceededError
from refusal import refuses
from run_parts import Scripted

from groundset.printing import Progress
from groundset.programs.errors import GroundsetError, RunError
from groundset.run.engine import RunJournal, Runner, RunStoppedError
from groundset.run.plan import Plan
from groundset.run.store import Store

PASSAGES = {
    f"c{n}": "If it rains, the mill stands still. It has two wheels. It is old." for n in range(30)
}


def plan(size=10):
    return Plan(PASSAGES, size=size, mix={"simple": 0.6, "reasoning": 0.4}, rounds=3)


def runner(store, attempt, journal, size=10, workers=1):
    journal.attach(store)
    progress = Progress(quiet=True)
    return Runner(store, plan(size), attempt, journal, progress=progress, workers=workers)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "run", {})


def states(store):
    return Counter(attempt.state for attempt in store.attempts())


def test_threads_make_what_is_asked_for(store):
    journal = RunJournal()
    assert runner(store, Scripted(journal), journal, workers=8).run() == "complete"
    found = Counter(
        each.result.sample.evolution for each in store.attempts() if each.state == "accepted"
    )
    assert found == {"simple": 6, "reasoning": 4}
    assert states(store)["refused"] > 0


def test_five_failures_of_a_kind_in_a_row_end_the_run(store):
    def attempt(task):
        error = KeyError("passage")
        raise error from error  # a circle of causes has an end

    with refuses("5 attempts in a row failed with KeyError: 'passage'", GroundsetError):
        runner(store, attempt, RunJournal()).run()
    assert [each.result.rejects[0].step for each in store.attempts()] == ["failure"] * 4


def test_a_passage_that_is_too_long_is_not_asked_about_again(store):
    def attempt(task):
        raise ContextWindowExceededError(message="too long")

    assert runner(store, attempt, RunJournal()).run() == "short"
    assert len(store.attempts()) == len(PASSAGES)


def test_ctrl_c_stops_after_the_running_call(store):
    journal = RunJournal()
    scripted = Scripted(journal)

    def attempt(task):
        if len(scripted.paid) >= 6:
            os.kill(os.getpid(), signal.SIGINT)
            while not journal.stopped.is_set():
                time.sleep(0.01)
        return scripted(task)

    said = []
    with journal.stopping_on_signals(said.append, hard=False):
        assert runner(store, attempt, journal).run() == "interrupted"
    assert journal.signal == signal.SIGINT
    assert said == ["stopping after the running call; once more to quit at once"]
    assert len(store.attempts()) == 3
    journal = RunJournal()
    assert runner(store, Scripted(journal), journal).run() == "complete"


def test_a_stop_does_not_wait_for_ever(store, monkeypatch):
    monkeypatch.setattr("groundset.run.engine.GRACE_SECONDS", 0.3)
    journal, hanging = RunJournal(), threading.Event()

    def attempt(task):
        journal.stopped.set()
        hanging.wait(20)
        raise RunStoppedError

    stopped = runner(store, attempt, journal)
    assert stopped.run() == "interrupted"
    assert not stopped.has_ended
    hanging.set()


def test_a_full_disk_is_one_line(tmp_path, store):
    journal = RunJournal()
    running = runner(store, Scripted(journal), journal, size=500)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (48 << 10, before[1]))
    try:
        with refuses(r"run\.sqlite: .* \(a full disk", RunError) as error:
            running.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert error.value.exit_code == 2
    store.close()
    with Store.open(tmp_path / "run") as again:
        assert again.attempts()
        journal = RunJournal()
        assert runner(again, Scripted(journal), journal).run() == "complete"
