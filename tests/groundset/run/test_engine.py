"""The engine: attempts, decisions, budgets, stops, failures, kills."""

import os
import random
import resource
import signal
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest
from dspy.utils.exceptions import ContextWindowExceededError
from refusal import refuses
from run_parts import Scripted

from groundset.printing import Progress
from groundset.programs.errors import GroundsetError, RunError
from groundset.run.engine import Made, RunJournal, Runner, RunStoppedError
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


def rows(store):
    return [(each.number, each.chunks, each.state, each.result) for each in store.attempts()]


@pytest.mark.parametrize("workers", [1, 8])
def test_a_run_makes_what_is_asked_for(store, workers):
    journal = RunJournal()
    assert runner(store, Scripted(journal), journal, workers=workers).run() == "complete"
    found = Counter(
        each.result.sample.evolution for each in store.attempts() if each.state == "accepted"
    )
    assert found == {"simple": 6, "reasoning": 4}
    assert states(store)["refused"] > 0


def test_repeated_questions_are_refused(store):
    journal = RunJournal()
    scripted = Scripted(journal)

    def attempt(task):
        made = scripted(task)
        if made.result.sample is None:
            return made
        same = made.result.sample.model_copy(update={"question": "When was the weir built?"})
        return Made(made.result.model_copy(update={"sample": same}), made.vector)

    runner(store, attempt, journal).run()
    assert states(store)["accepted"] == 1
    reasons = {
        reject.reason
        for each in store.attempts()
        for reject in each.result.rejects
        if reject.step == "duplicate"
    }
    assert reasons == {"repeats a question of the run: 'When was the weir built?'"}


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
        with refuses(r"run\.sqlite: the disk is full", RunError) as error:
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


class Paying(Scripted):
    """Notes paid calls in a file, which survives the process."""

    def __init__(self, journal, file):
        super().__init__(journal)
        self.file = file

    def pay(self, key):
        time.sleep(0.002)

    def call(self, key):
        text = super().call(key)
        with self.file.open("a") as stream:  # finished: it must not be made again
            stream.write(f"{key}\n")
        return text


def run_in_child(folder, paid):
    """Run the engine in a forked process, and return its id."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # the other threads of the tests are not used
        child = os.fork()
    if child == 0:
        try:
            store = (
                Store.open(folder) if (folder / "run.sqlite").exists() else Store.create(folder, {})
            )
            with store:
                journal = RunJournal()
                runner(store, Paying(journal, paid), journal, size=20).run()
        finally:
            os._exit(0)
    return child


def test_a_killed_run_goes_on_where_it_was(tmp_path, store):
    journal = RunJournal()
    runner(store, Scripted(journal), journal, size=20).run()
    chance, killed, accepted = random.Random(5), 0, set()
    folder, paid = tmp_path / "killed", tmp_path / "paid.txt"
    store_of = folder / "run.sqlite"
    for _ in range(8):
        child = run_in_child(folder, paid)
        time.sleep(chance.uniform(0.005, 0.06))
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
        if store_of.exists() and store_of.stat().st_size:
            with Store.read(folder) as reader:
                found = {each.result.sample.id for each in reader.attempts() if each.result.sample}
            assert accepted <= found
            accepted = found
    os.waitpid(run_in_child(folder, paid), 0)
    assert killed >= 4
    with Store.read(folder) as reader:
        assert rows(reader) == rows(store)
        calls = reader.usage()["calls"]
    finished = Counter(paid.read_text().split("\n")[:-1])
    assert calls == len(finished)
