"""The engine of a run: attempts in threads, and the decision on each in the main thread."""

import queue
import signal
import threading
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import Any, Literal, NamedTuple

import numpy as np
import regex
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedModelError,
)
from numpy.typing import NDArray

from groundset.printing import Progress
from groundset.programs.errors import GroundsetError, wrapped
from groundset.programs.forms import UNSURE
from groundset.programs.text import numbers, words_in
from groundset.programs.types import Reject
from groundset.run.plan import Plan, Task
from groundset.run.store import REFUSED, Attempt, Result, State, Store

Ending = Literal["complete", "short", "budget", "interrupted"]

GRACE_SECONDS = 60.0  # for what runs when a run ends
_TICK_SECONDS = 0.25
_FAILURES_IN_A_ROW = 5
_SIMILAR = 0.92  # cosine of repeated questions; chosen by hand, not tuned
_SAME_ANSWER = 0.6  # the same with the same answer from the same chunk


class RunStoppedError(BaseException):
    """Ends an attempt because the run stops; DSPy and programs do not take it for a failed call."""


class RunJournal:
    """The journal of a run: keeps finished calls, and lets none begin when the run stops or its
    budget is used up.
    """

    def __init__(self, budget: int | None = None) -> None:
        """Begin without a store; the budget counts the calls of all processes, None is no limit."""
        self.began = datetime.now(UTC)
        self._budget, self._calls = budget, 0
        self._guard = threading.Lock()
        self.stopped = (
            threading.Event()
        )  # no call may begin, and every attempt ends after its running one
        self._store: Store | None = None
        self.signal: int | None = None  # that stopped the run
        self.is_used_up = False  # the budget

    def attach(self, store: Store) -> None:
        """Keep calls in a store from now on, and count those that it has."""
        self._store, self._calls = store, store.usage()["calls"]

    def get(self, key: str) -> str | None:
        """Return the response of a finished call, None if the call may be made.

        Raises:
            RunStoppedError: it may not.
        """
        response = self._store.get(key) if self._store else None
        if response is None:
            with self._guard:
                if (
                    self._budget is not None
                    and self._calls >= self._budget
                    and not self.stopped.is_set()
                ):
                    self.is_used_up = True
                    self.stopped.set()
                if self.stopped.is_set():
                    raise RunStoppedError
                self._calls += 1
        return response

    def put(self, key: str, response: str) -> None:
        """Keep a finished call."""
        if self._store:
            self._store.put(key, response)

    @contextmanager
    def stopping_on_signals(self, say: Callable[[str], None], *, hard: bool) -> Iterator[None]:
        """Stop at the first Ctrl-C or SIGTERM in the block; the second one has its usual effect.

        With ``hard`` it ends the process at once. Outside the main thread this does nothing.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            del frame
            for each, handler in before.items():
                signal.signal(each, signal.SIG_DFL if hard else handler)
            self.signal = number
            self.stopped.set()
            say("stopping after the running call; once more to quit at once")

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {
            number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Made(NamedTuple):
    """What an attempt made: its result, and the embedding of its question, if that must not repeat
    another one.
    """

    result: Result
    vector: NDArray[np.float32] | None = None


class Runner:
    """Makes attempts until samples are enough, nothing is left to ask, or the run stops."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        attempt: Callable[[Task], Made],
        journal: RunJournal,
        *,
        progress: Progress,
        workers: int = 1,
    ) -> None:
        """Take in what the store has; ``attempt`` is called in threads."""
        self._store, self._plan, self._attempt, self._journal = store, plan, attempt, journal
        self._progress, self._workers = progress, workers
        self._before = float(store.meta("seconds") or 0.0)  # seconds of earlier processes
        self._finished: queue.SimpleQueue[tuple[Task, Made | BaseException]] = queue.SimpleQueue()
        self._duplicates = Duplicates()
        self._failures: list[str] = []
        for made in store.attempts():
            plan.record(made)
            for reject in made.result.rejects:
                if reject.step == REFUSED:
                    self._duplicates.refuse(reject.question or "")
            if asked := _asked(made.result, made.vector):
                self._duplicates.add(asked)

    @property
    def has_ended(self) -> bool:
        """Return whether no call runs in a thread any more."""
        return not self._plan.in_flight

    def run(self) -> Ending:
        """Make attempts; return how it ended.

        Raises:
            GroundsetError: it cannot go on; what is finished is kept.
        """
        try:
            ending = self._loop()
        except GroundsetError:
            self._journal.stopped.set()
            self._drain()
            raise
        self._drain()  # what is nearly made is not thrown away
        self._journal.stopped.set()
        if ending == "interrupted" and self._journal.is_used_up and self._journal.signal is None:
            ending = "budget"
        return "complete" if self._plan.missing <= 0 else ending

    def _loop(self) -> Ending:
        while True:
            while self._plan.in_flight < self._workers and not self._journal.stopped.is_set():
                task = self._plan.next()
                if promoted := self._plan.take_promoted():
                    self._store.promote(promoted)
                    self._progress.attempt(len(promoted))
                if task is None:
                    break
                threading.Thread(target=self._make, args=(task,), daemon=True).start()
            if self._journal.stopped.is_set():
                return "interrupted"
            if self._plan.missing <= 0:
                return "complete"
            if not self._plan.in_flight:
                return "short"
            self._take()

    def _make(self, task: Task) -> None:
        made: Made | BaseException
        try:
            made = self._attempt(task)
        except BaseException as error:  # noqa: BLE001 - handled in the main thread
            made = error
        self._finished.put((task, made))

    def _drain(self) -> None:
        """Wait for what is in flight, for a limited time."""
        until = time.monotonic() + GRACE_SECONDS
        while self._plan.in_flight and time.monotonic() < until:
            self._take(is_last=True)

    def _take(self, *, is_last: bool = False) -> None:
        """Decide on the next finished attempt, if one finishes soon."""
        try:
            task, made = self._finished.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            return
        try:
            if isinstance(made, Made):
                self._failures.clear()
                self._decide(task, made)
            elif not is_last and not isinstance(made, RunStoppedError):
                self._decide(task, Made(self._failure(task, made)))
        finally:
            self._plan.drop(task)

    def _decide(self, task: Task, made: Made) -> None:
        """Keep what came of an attempt: accepted, surplus or refused."""
        result, vector = made
        if asked := _asked(result, vector):
            if (first := self._duplicates.find(asked)) is None:
                self._duplicates.add(asked)
            else:
                reason = f"repeats a question of the run: {first!r}"
                result, vector = result.refused("duplicate", reason), None
        state: State = "refused"
        if sample := result.sample:
            state = self._plan.state_of(sample.evolution, beyond=task.beyond)
            state = "unsure" if sample.evolution == UNSURE else state
        attempt = Attempt(task.number, task.chunks, task.wanted, state, result, vector)
        with self._store.transaction():
            self._store.add_attempt(attempt)
            now = datetime.now(UTC)
            seconds = self._before + (now - self._journal.began).total_seconds()
            self._store.set_meta("seconds", seconds)
            self._store.set_meta("ended", now.isoformat(timespec="milliseconds"))
        self._plan.record(attempt)
        self._progress.attempt(int(state == "accepted"), result.rejects)

    def _failure(self, task: Task, error: BaseException) -> Result:
        """Return what comes of a failed attempt.

        Raises:
            GroundsetError: every attempt would fail like it.
        """
        if cause := wrapped(error):
            raise cause
        told: dict[str, Any] = {
            "question": task.question or None,
            "chunk_id": next(iter(task.chunks), ""),
        }
        kind, first = type(error).__name__, (str(error).strip() or "no message").splitlines()[0]
        if isinstance(error, ContextWindowExceededError):
            reason = f"longer than the context of the model: {first}"
            return Result(rejects=(Reject(step="chunk", reason=reason, **told),), exhausted=True)
        is_of_request = isinstance(error, LMInvalidRequestError) and not isinstance(
            error, LMUnsupportedModelError
        )
        if isinstance(error, LMError) and not is_of_request:
            raise GroundsetError(f"the language model failed ({kind}): {first}") from error
        if not isinstance(error, Exception):
            raise error
        self._failures = [*(each for each in self._failures if each == kind), kind]
        if len(self._failures) >= _FAILURES_IN_A_ROW:
            raise GroundsetError(
                f"{_FAILURES_IN_A_ROW} attempts in a row failed with {kind}: {first}"
            ) from error
        return Result(rejects=(Reject(step="failure", reason=f"{kind}: {first}", **told),))


class Asked(NamedTuple):
    """A question with its embedding, and perhaps the ids of its contexts, each with the answer."""

    question: str
    vector: NDArray[np.float32]
    places: Sequence[tuple[str, str]] = ()


def _asked(result: Result, vector: NDArray[np.float32] | None) -> Asked | None:
    """Return the question of a result if it must not repeat another one."""
    sample = result.sample
    if sample is None or vector is None:
        return None
    answer = _words(sample.answer)
    places = [(chunk.chunk_id, answer) for chunk in sample.contexts]
    return Asked(sample.question, vector, places)


class Duplicates:
    """The questions of a run.

    Two are duplicates if they have the same words, or if the cosine of their embeddings is at least
    ``_SIMILAR`` and they contain the same numbers, which embeddings hardly tell apart. Less is
    enough with the same answer from the same chunk, because embedders miss paraphrases in languages
    that they were not trained on.
    """

    def __init__(self) -> None:
        self._questions: list[str] = []
        self._by_words: dict[str, str] = {}
        self._by_answer: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._vectors: list[NDArray[np.float32]] = []

    def add(self, asked: Asked) -> None:
        """Add a question."""
        self.refuse(asked.question)
        for place in asked.places:
            self._by_answer[place].append(len(self._questions))
        self._questions.append(asked.question)
        self._vectors.append(asked.vector)

    def refuse(self, question: str) -> None:
        """Add a question that is not to be asked again in the same words."""
        self._by_words.setdefault(_words(question), question)

    def find(self, asked: Asked) -> str | None:
        """Return the question that one repeats, None if it is no duplicate."""
        question, known = asked.question, self._questions
        same = self._by_words.get(_words(question))
        if same is not None or not known:
            return same
        similarities = np.array(self._vectors) @ asked.vector
        answered = [place for key in asked.places for place in self._by_answer[key]]
        alike = [place for place in answered if similarities[place] >= _SAME_ANSWER]
        alike += [
            place
            for place in np.flatnonzero(similarities >= _SIMILAR).tolist()
            if numbers(known[place]) == numbers(question)
            and not _differ_in_marks(known[place], question)
        ]
        return known[max(alike, key=similarities.__getitem__)] if alike else None


def _differ_in_marks(one: str, other: str) -> bool:
    """Return whether a word of one is a word of the other with other vowel signs, which embedders
    may not see.
    """
    first, second = (
        {regex.sub(r"\p{M}", "", word): word for word in words_in(text)} for text in (one, other)
    )
    return any(first[bare] != second[bare] for bare in first.keys() & second.keys())


def _words(text: str) -> str:
    return " ".join(words_in(unicodedata.normalize("NFKC", text).replace("_", " ")))
