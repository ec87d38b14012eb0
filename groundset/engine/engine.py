"""The run engine: attempts in threads, decisions strictly in the order of attempts."""

import itertools
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import dspy

from groundset.engine.clock import Clock
from groundset.engine.decide import Decider, Settlement
from groundset.engine.failures import FAILURES_IN_A_ROW, endless_failures, failure_of, fatal_error, outcome_of
from groundset.engine.schedule import Schedule
from groundset.engine.stop import RunStoppedError, Stop
from groundset.engine.workers import Workers
from groundset.store.run_store import RunStore
from programs.types import Attempt, Observer, Outcome, Program, StepRecord

Ending = Literal["complete", "short", "interrupted"]

# How long a run waits at its end for calls in flight: not long if somebody waits for it to stop.
GRACE_SECONDS = 60.0
HASTY_GRACE_SECONDS = 5.0
_TICK_SECONDS = 0.5


class Watcher(Protocol):
    """Is told what happens, from the thread that it happens in."""

    def step(self, record: StepRecord) -> None:
        """Take what a step said."""
        ...

    def decided(self, settlement: Settlement) -> None:
        """Take what was decided on an attempt."""
        ...

    def tick(self) -> None:
        """Take the chance to show something; called at least every second."""
        ...


@dataclass(frozen=True)
class Maker:
    """What attempts are made with: the program, and DSPy's settings for it."""

    program: Program
    lm: Any
    adapter: Any


class RunEngine:
    """Makes attempts until enough samples are accepted, the chunks are used up or somebody asks to stop.

    Attributes:
        has_ended: whether no call is running any more; False after a stop that did not wait for a slow one.
    """

    def __init__(
        self,
        store: RunStore,
        schedule: Schedule,
        decider: Decider,
        maker: Maker,
        watcher: Watcher,
        stop: Stop,
        clock: Clock,
    ) -> None:
        """Take up the run where the store has it."""
        self._store = store
        self._schedule = schedule
        self._decider = decider
        self._maker = maker
        self._watcher = watcher
        self._stop = stop
        self._running: dict[int, tuple[Attempt, Future[Outcome]]] = {}
        self._failures: list[type[BaseException]] = []
        self._clock = clock
        self.has_ended = True

    def restore(self) -> None:
        """Follow the decisions of earlier processes, so that the next attempt is the first one without any."""
        results = self._store.results
        self._decider.restore(zip(results.samples(), results.vectors(), strict=True))
        for number, verdict in self._store.attempts.verdicts():
            # The window lets plans run ahead of verdicts; here each is followed by its own.
            attempt = self._schedule.next()
            if attempt is None or attempt.number != number:
                raise self._store.damaged(f"attempt {number} cannot be followed")
            self._schedule.decide(verdict)

    def run(self, workers: int) -> Ending:
        """Make attempts, ``workers`` at a time.

        Raises:
            GroundsetError: the run cannot go on; everything up to there is stored.
        """
        try:
            with Workers(workers) as pool:
                try:
                    ending = self._loop(pool, workers)
                finally:
                    self._end_attempts()
            if ending == "interrupted":
                self._decide()
        finally:
            self._clock.note()
        return "complete" if self._decider.is_full else ending

    def _loop(self, pool: Workers, workers: int) -> Ending:
        while not self._decider.is_full:
            if self._stop.asked:
                return "interrupted"
            self._draw(pool, workers)
            if not self._running:
                return "short"
            self._wait()
            self._decide()
        return "complete"

    def _draw(self, pool: Workers, workers: int) -> None:
        """Start attempts while threads are free and the schedule knows what to try."""
        busy = sum(not future.done() for _, future in self._running.values())
        while busy < workers and not self._stop.asked and (attempt := self._schedule.next()) is not None:
            finished = self._store.attempts.outcome(attempt)
            if finished is None:
                future = pool.submit(partial(self._make, attempt))
                busy += 1
            else:
                future = Future()
                future.set_result(finished)
            self._running[attempt.number] = (attempt, future)

    def _make(self, attempt: Attempt) -> Outcome:
        """Run the program on one attempt, in a thread of the pool."""
        self._stop.check()
        self._store.attempts.begin(attempt)
        # DSPy would keep every call in histories and every prediction in a trace, for as long as it runs.
        settings: dict[str, Any] = {"disable_history": True, "trace": None, "max_trace_size": 0}
        with dspy.context(lm=self._maker.lm, adapter=self._maker.adapter, **settings):
            outcome = self._maker.program(attempt=attempt, observer=self._observer(attempt.number))
        self._store.attempts.finish(attempt.number, outcome)
        return outcome

    def _observer(self, number: int) -> Observer:
        seqs = itertools.count()

        def observe(record: StepRecord) -> None:
            self._store.attempts.add_step(number, next(seqs), record)
            self._watcher.step(record)
            self._stop.check()

        return observe

    def _wait(self) -> None:
        """Wait until another attempt has finished, but not so long that progress would stand still."""
        if not self._running[self._schedule.decided][1].done():
            pending = [future for _, future in self._running.values() if not future.done()]
            wait(pending, _TICK_SECONDS, FIRST_COMPLETED)
        self._clock.tick()
        self._watcher.tick()

    def _decide(self) -> None:
        """Decide finished attempts, up to the first one that has not finished."""
        while not self._decider.is_full:
            number = self._schedule.decided
            attempt, future = self._running.get(number, (None, None))
            if attempt is None or future is None or not future.done():
                return
            error = future.exception()
            if isinstance(error, RunStoppedError):
                return
            outcome = future.result() if error is None else self._settle(attempt, error)
            settled = self._decider.decide(attempt, outcome)
            self._store.results.decide(number, settled.verdict, settled.sample, settled.vector, settled.rejects)
            self._schedule.decide(settled.verdict)
            del self._running[number]
            if error is None:
                self._failures.clear()
            self._clock.note()
            self._watcher.decided(settled)

    def _settle(self, attempt: Attempt, error: BaseException) -> Outcome:
        """Return the outcome that an exception means for an attempt, or stop the run."""
        if not isinstance(error, Exception):
            raise error
        outcome = outcome_of(error, attempt)
        if outcome is None:
            fatal = fatal_error(error)
            if fatal is not None:
                raise fatal from error
            same = [kind for kind in self._failures if kind is type(error)]
            self._failures = [*same, type(error)]
            if len(self._failures) >= FAILURES_IN_A_ROW:
                raise endless_failures(error) from error
            outcome = failure_of(error, attempt)
        self._store.attempts.finish(attempt.number, outcome)
        return outcome

    def _end_attempts(self) -> None:
        """Let attempts in flight end after their running calls, and wait a little for that."""
        grace = HASTY_GRACE_SECONDS if self._stop.asked else GRACE_SECONDS
        self._stop.ask()
        futures = [future for _, future in self._running.values()]
        self.has_ended = not wait(futures, grace).not_done
