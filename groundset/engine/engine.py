"""The run engine: attempts in threads, decisions strictly in the order of attempts."""

import itertools
import queue
import threading
from collections.abc import Callable
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
from programs.types import Attempt, Observer, Outcome, Program, Reject, StepRecord

Ending = Literal["complete", "short", "interrupted"]

# How long a run waits at its end for calls in flight: not long if somebody waits for it to stop.
GRACE_SECONDS = 60.0
HASTY_GRACE_SECONDS = 5.0
_TICK_SECONDS = 0.5


_T = TypeVar("_T")


class Workers:
    """A pool like ``ThreadPoolExecutor``, but of daemon threads.

    Python waits at its exit for the threads of an executor. A call to a server that does not answer would then
    keep an interrupted run from ending.
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
            except BaseException as error:  # noqa: BLE001 - handed on to whoever asks the future
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
    """Shows the progress of a run; its methods are called from the thread that they report on."""

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
class Maker:
    """The program that makes attempts, and DSPy's settings for it."""

    program: Program
    lm: Any
    adapter: Any


class RunEngine:
    """Makes attempts until enough samples are accepted, the chunks are used up or the run is stopped.

    Attributes:
        has_ended: whether no call is running any more; False after a stop that did not wait for a slow one.
    """

    def __init__(
        self,
        store: RunStore,
        planner: Planner,
        maker: Maker,
        watcher: Watcher,
        stop: Stop,
        clock: Clock,
    ) -> None:
        """Prepare the run from the state in the store."""
        self._store = store
        self._planner = planner
        self._maker = maker
        self._watcher = watcher
        self._stop = stop
        self._running: dict[int, tuple[Attempt, Future[Outcome]]] = {}
        self._failures: list[type[BaseException]] = []
        self._clock = clock
        self.has_ended = True

    def restore(self) -> None:
        """Replay the decisions of earlier processes, so that the next attempt is the first undecided one."""
        results = self._store.results
        self._planner.restore(zip(results.samples(), results.vectors(), strict=True))
        for number, verdict in self._store.attempts.verdicts():
            # The window lets plans run ahead of verdicts; here each is followed by its own.
            attempt = self._planner.next()
            if attempt is None or attempt.number != number:
                raise self._store.damaged(f"attempt {number} cannot be followed")
            self._planner.follow(verdict)

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
        return "complete" if self._planner.is_full else ending

    def _loop(self, pool: Workers, workers: int) -> Ending:
        while not self._planner.is_full:
            if self._stop.asked:
                return "interrupted"
            self._draw(pool, workers)
            if not self._running:
                return "short"
            self._wait()
            self._decide()
        return "complete"

    def _draw(self, pool: Workers, workers: int) -> None:
        """Start attempts while threads are free and there is something to try."""
        busy = sum(not future.done() for _, future in self._running.values())
        while busy < workers and not self._stop.asked and (attempt := self._planner.next()) is not None:
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
        if not self._running[self._planner.decided][1].done():
            pending = [future for _, future in self._running.values() if not future.done()]
            wait(pending, _TICK_SECONDS, FIRST_COMPLETED)
        self._clock.tick()
        self._watcher.tick()

    def _decide(self) -> None:
        """Decide finished attempts, up to the first one that has not finished."""
        while not self._planner.is_full:
            number = self._planner.decided
            attempt, future = self._running.get(number, (None, None))
            if attempt is None or future is None or not future.done():
                return
            error = future.exception()
            if isinstance(error, RunStoppedError):
                return
            outcome = future.result() if error is None else self._settle(attempt, error)
            settled = self._planner.decide(attempt, outcome)
            self._store.results.decide(number, settled.verdict, settled.sample, settled.vector, settled.rejects)
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
        """Let attempts in flight end after their running calls, and wait a short time for them."""
        grace = HASTY_GRACE_SECONDS if self._stop.asked else GRACE_SECONDS
        self._stop.ask()
        futures = [future for _, future in self._running.values()]
        self.has_ended = not wait(futures, grace).not_done


FAILURES_IN_A_ROW = 5


def outcome_of(error: BaseException, attempt: Attempt) -> Outcome | None:
    """Return the outcome of an attempt whose chunk did not fit the model's context, else None."""
    if not isinstance(error, ContextWindowExceededError):
        return None
    reason = f"longer than the language model's context: {first_line(error)}"
    return Outcome(
        rejects=(Reject(step="chunk", reason=reason, chunk_id=attempt.contexts[0].chunk.chunk_id),), exhausted=True
    )


def fatal_error(error: BaseException) -> GroundsetError | None:
    """Return the error that every further attempt would meet too and so stops the run, else None.

    That is: our own errors, which DSPy wraps when they come from below it (a full disk, say); and everything
    that DSPy reports of the way to the model, after its own retries. A refused request is no such thing.
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
    """Return the error that stops a run whose attempts keep failing in the same way."""
    return GroundsetError(
        f"{FAILURES_IN_A_ROW} attempts in a row failed with {type(error).__name__}: {first_line(error)}"
    )


def _chunk_id(attempt: Attempt) -> str:
    return attempt.contexts[0].chunk.chunk_id
