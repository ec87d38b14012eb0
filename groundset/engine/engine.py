"""The run engine: attempts in threads, decisions strictly in the order of attempts."""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar

import dspy
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedModelError,
)

from groundset.engine.planner import Planner, Settlement
from groundset.engine.stop import Clock, RunStoppedError, Stop
from groundset.models.servers import first_line
from groundset.store.run_store import RunStore
from programs.errors import EngineError, GroundsetError
from programs.types import Attempt, Outcome, Program, Reject, StepRecord

Ending = Literal["complete", "short", "budget", "interrupted"]

# How long a run waits for calls in flight when it ends, and when a signal stops it.
GRACE_SECONDS = 60.0
HASTY_GRACE_SECONDS = 5.0
_TICK_SECONDS = 0.5
# Otherwise DSPy keeps every call and prediction in memory.
UNTRACED: Mapping[str, Any] = {"disable_history": True, "trace": None, "max_trace_size": 0}
FAILURES_IN_A_ROW = 5

_T = TypeVar("_T")


class Workers:
    """A pool of daemon threads.

    Python waits at exit for the threads of a ``ThreadPoolExecutor``, so a call to an unresponsive server would keep an
    interrupted run from ending.
    """

    def __init__(self, count: int) -> None:
        """Start ``count`` threads."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"attempts-{i}") for i in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], _T]) -> "Future[_T]":
        """Submit work to the next free thread."""
        future: Future[_T] = Future()

        def job() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - raised again by the future
                future.set_exception(error)
            else:
                future.set_result(result)

        self._jobs.put(job)
        return future

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the threads end after their current work, without waiting for them."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class Watcher(Protocol):
    """Shows the progress of a run; ``step`` is called from worker threads."""

    def step(self, record: StepRecord) -> None:
        """Receive the record of a step."""
        ...

    def decided(self, settlement: Settlement) -> None:
        """Receive the decision on an attempt."""
        ...

    def tick(self) -> None:
        """Update what is shown; called at least every second."""
        ...


@dataclass(frozen=True)
class AttemptRunner:
    """The program that runs attempts, with its language model and DSPy adapter."""

    program: Program
    lm: Any
    adapter: Any


class RunEngine:
    """Runs attempts until enough samples are accepted, the chunks are used up or the run is stopped.

    Attributes:
        has_ended: False if a call is still running after the grace period of a stop.
    """

    def __init__(
        self,
        store: RunStore,
        planner: Planner,
        runner: AttemptRunner,
        watcher: Watcher,
        stop: Stop,
        clock: Clock,
        is_prepared: Callable[[], bool] = lambda: True,
    ) -> None:
        """Wire the parts of a run; call :meth:`restore` before :meth:`run`.

        Attempts begin when their chunks are ready, and are decided once ``is_prepared`` returns True: when all are.
        """
        self._store = store
        self._planner = planner
        self._runner = runner
        self._watcher = watcher
        self._stop = stop
        self._running: dict[int, tuple[Attempt, Future[Outcome]]] = {}
        self._failures: list[type[BaseException]] = []
        self._clock = clock
        self._is_prepared = is_prepared
        self.has_ended = True

    def restore(self) -> None:
        """Replay the decisions of earlier processes, so that the next attempt is the first undecided one."""
        results = self._store.results
        self._planner.restore(zip(results.samples(), results.vectors(), strict=True))
        for number, verdict in self._store.attempts.verdicts():
            # Planning may run ahead of verdicts, but replaying one by one gives the same plans.
            attempt = self._planner.next()
            if attempt is None or attempt.number != number:
                raise self._store.damaged(f"attempt {number} cannot be replayed")
            self._planner.follow(verdict)

    def run(self, workers: int) -> Ending:
        """Run attempts, ``workers`` at a time.

        Raises:
            GroundsetError: the run cannot continue; finished work is stored.
        """
        try:
            with Workers(workers) as pool:
                try:
                    ending = self._loop(pool, workers)
                except RunStoppedError:  # while a chunk was waited for
                    ending = "interrupted"
                finally:
                    self._end_attempts()
            if ending == "interrupted":
                self._decide()
        finally:
            self._clock.note()
        return "complete" if self._planner.is_full else ending

    def _loop(self, pool: Workers, workers: int) -> Ending:
        while not self._planner.is_full:
            if self._stop.requested:
                return "interrupted"
            self._draw(pool, workers)
            if not self._running and self._is_prepared():
                return "short"
            self._wait()
            self._decide()
        return "complete"

    def _draw(self, pool: Workers, workers: int) -> None:
        """Start attempts while threads are free and the planner has one."""
        busy = sum(not future.done() for _, future in self._running.values())
        while busy < workers and not self._stop.requested and (attempt := self._planner.next()) is not None:
            if attempt.repeats is not None:
                self._store.attempts.repeat(attempt, attempt.repeats)
            finished = self._store.attempts.outcome(attempt)
            if finished is None:
                future = pool.submit(partial(self._run_attempt, attempt))
                busy += 1
            else:
                future = Future()
                future.set_result(finished)
            self._running[attempt.number] = (attempt, future)

    def _run_attempt(self, attempt: Attempt) -> Outcome:
        """Run the program on one attempt, in a thread of the pool."""
        self._stop.check()
        self._store.attempts.begin(attempt)
        records: list[StepRecord] = []

        def observe(record: StepRecord) -> None:
            records.append(record)
            self._watcher.step(record)
            self._stop.check()

        try:
            with dspy.context(lm=self._runner.lm, adapter=self._runner.adapter, **UNTRACED):
                outcome = self._runner.program(attempt=attempt, observer=observe)
        finally:
            self._store.attempts.add_steps(attempt.number, records)
        self._store.attempts.finish(attempt.number, outcome)
        return outcome

    def _wait(self) -> None:
        """Wait until another attempt has finished or progress is due for an update."""
        _, first = self._running.get(self._planner.decided, (None, None))
        if first is None or not first.done() or not self._is_prepared():
            pending = [future for _, future in self._running.values() if not future.done()]
            if pending:
                wait(pending, _TICK_SECONDS, FIRST_COMPLETED)
            else:
                time.sleep(_TICK_SECONDS)
        self._clock.tick()
        self._watcher.tick()

    def _decide(self) -> None:
        """Decide finished attempts in order, up to the first unfinished one."""
        if not self._is_prepared():
            self._raise_fatal()
            return
        while not self._planner.is_full:
            number = self._planner.decided
            attempt, future = self._running.get(number, (None, None))
            if attempt is None or future is None or not future.done():
                return
            error = future.exception()
            if isinstance(error, RunStoppedError):
                return
            outcome = future.result() if error is None else self._failed_outcome(attempt, error)
            settled = self._planner.decide(attempt, outcome)
            self._store.results.decide(number, settled.verdict, settled.sample, settled.vector, settled.rejects)
            del self._running[number]
            if error is None:
                self._failures.clear()
            self._watcher.decided(settled)

    def _raise_fatal(self) -> None:
        """Raise if an attempt ended with an error that every attempt would meet."""
        for _, future in self._running.values():
            error = future.exception() if future.done() else None
            if error is None or isinstance(error, RunStoppedError):
                continue
            if not isinstance(error, Exception):
                raise error
            if (fatal := fatal_error(error)) is not None:
                raise fatal from error

    def _failed_outcome(self, attempt: Attempt, error: BaseException) -> Outcome:
        """Return the outcome of an attempt that raised, or raise if the run cannot continue."""
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
        """Stop attempts in flight after their running calls, and wait for them for a limited time."""
        grace = HASTY_GRACE_SECONDS if self._stop.signal is not None else GRACE_SECONDS
        self._stop.request()
        futures = [future for _, future in self._running.values()]
        self.has_ended = not wait(futures, grace).not_done


def outcome_of(error: BaseException, attempt: Attempt) -> Outcome | None:
    """Return the outcome of an attempt whose prompt exceeds the context window, else None."""
    if not isinstance(error, ContextWindowExceededError):
        return None
    reason = f"longer than the language model's context: {first_line(error)}"
    return Outcome(rejects=(Reject(step="chunk", reason=reason, chunk_id=_chunk_id(attempt)),), exhausted=True)


def fatal_error(error: BaseException) -> GroundsetError | None:
    """Return the error that stops the run because every attempt would meet it, else None.

    These are groundset's own errors, which DSPy may wrap, and DSPy's language model errors after its retries. A
    rejected single request is not fatal.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GroundsetError):
            return cause
        cause = cause.__cause__
    one_request = isinstance(error, LMInvalidRequestError) and not isinstance(error, LMUnsupportedModelError)
    if isinstance(error, LMError) and not one_request:
        kind = type(error).__name__.removeprefix("LM").removesuffix("Error")
        return EngineError(f"the language model failed ({kind}): {first_line(error)}")
    return None


def failure_of(error: BaseException, attempt: Attempt) -> Outcome:
    """Return the outcome of an attempt that failed unexpectedly."""
    reason = f"{type(error).__name__}: {first_line(error)}"
    reject = Reject(step="failure", reason=reason, chunk_id=_chunk_id(attempt))
    return Outcome(rejects=(reject,))


def endless_failures(error: BaseException) -> GroundsetError:
    """Return the error for a run whose attempts keep failing in the same way."""
    return GroundsetError(
        f"{FAILURES_IN_A_ROW} attempts in a row failed with {type(error).__name__}: {first_line(error)}"
    )


def _chunk_id(attempt: Attempt) -> str:
    return attempt.contexts[0].chunk.chunk_id
