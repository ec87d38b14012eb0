"""Language models on servers: a request is answered once, by one of the servers of the model."""

import contextvars
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue

import dspy
from dspy.lm15 import Request, Response
from dspy.utils.exceptions import LMError, LMRateLimitError, LMServerError, is_retryable_lm_error

from groundset.models.http_limits import ANSWER_SECONDS, REQUEST_ID, LateAnswerError, UnusableAnswerError
from groundset.models.pool import MAX_PAUSE, Server, ServerPool, pause_after
from groundset.models.servers import failure_reason, is_unsuitable, joined_reasons
from groundset.models.specs import HostedSpec, OpenAISpec, ServersSpec
from groundset.runtime.control_tokens import ControlTokens
from groundset.runtime.journal import CallJournal, digest_of, record_of
from programs.errors import ModelError, RunError, UnreachableModelError, UnsuitableServerError

RETRIES = 2
_LATEST = 2  # times the time limit: how long to wait for the answers of abandoned requests


class RemoteEngine:
    """Send requests to the servers of a model."""

    def __init__(
        self,
        spec: OpenAISpec | HostedSpec | ServersSpec,
        notify: Callable[[str], object],
        journal: CallJournal,
        *,
        timeout: float = ANSWER_SECONDS,
        retries: int = RETRIES,
    ) -> None:
        """Open the servers of a model.

        Args:
            spec: the model.
            notify: called with a line about servers; see :class:`groundset.models.pool.ServerPool`.
            journal: counts the requests of each server, and stores answers that come late.
            timeout: how many seconds to wait for an answer of a server.
            retries: how often to send a request again to the same server.

        Raises:
            UnreachableModelError: none of several servers can be used.
        """
        self._journal, self._timeout, self._retries = journal, timeout, retries
        self._pool = ServerPool(spec, notify, _LATEST * timeout)
        self._control_tokens = ControlTokens()

    def complete(self, request: Request) -> Response:
        """Answer one request, with common control tokens in its texts escaped.

        If a server fails, the request goes to another one at once. It goes to the same server again after a pause, but
        not if the answer was late or unusable.

        Raises:
            ModelError: no server gave a usable answer.
            LMError: a server rejected this request.
        """
        call = _Call(digest_of(request), self._journal)
        tries: Counter[Server] = Counter()
        earlier: dict[Server, int] = {}
        reasons: dict[Server, str] = {}
        patience = min(MAX_PAUSE, self._timeout)

        def is_used_up(server: Server) -> bool:
            # Failures of other requests count too: all wait for the same server.
            failed = server.faults - earlier.setdefault(server, server.faults)
            return max(tries[server], failed) > self._retries

        try:
            for number in itertools.count(1):
                started = time.monotonic()
                server = self._pool.take(is_used_up, patience)
                began = time.monotonic()
                patience -= began - started
                if server is None:
                    break
                tries[server] += 1
                try:
                    return call.send(number, partial(self._ask, server, request), self._timeout)
                except (LMError, UnusableAnswerError, UnreachableModelError) as error:
                    self._journal.count(server.name, failures=1)
                    reason = str(error) if isinstance(error, ModelError) else failure_reason(server.spec, error)
                    if reason is None:
                        self._pool.answered(server, began)
                        raise
                    self._pool.failed(server, reason, began, _pause_after(error), checks=not _is_busy(error))
                    call.error, reasons[server] = error, reason
                    if not _is_passing(error):
                        tries[server] = self._retries + 1
            if (answer := call.end()) is not None:
                return answer
            raise ModelError(joined_reasons({**self._pool.reasons(), **reasons}.values())) from call.error
        finally:
            call.end()

    def _ask(self, server: Server, request: Request) -> Response:
        """Send a request to a server, in a thread of its own."""
        began = time.monotonic()
        try:
            self._pool.check(server)
            sent = time.monotonic()
            with dspy.context(disable_history=True):  # the journal stores the calls
                response = self._control_tokens.guard(replace(request, model=server.client.model), server.client.send)
        finally:
            self._pool.release(server)
        self._pool.answered(server, began)
        self._journal.count(server.name, calls=1, seconds=time.monotonic() - sent)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


class _Call:
    """One request, which may be sent several times: its first answer counts.

    If it is abandoned, an answer that comes later is stored in the journal, so that the next call costs nothing.

    Attributes:
        error: why it failed the last time.
    """

    def __init__(self, digest: str, journal: CallJournal) -> None:
        self.error: Exception | None = None
        self._digest, self._journal = digest, journal
        self._results: SimpleQueue[tuple[int, Response | Exception]] = SimpleQueue()
        self._lock = threading.Lock()
        self._has_ended = self._has_answer = False

    def send(self, number: int, ask: Callable[[], Response], seconds: float) -> Response:
        """Send the request in a thread, and return the first answer, which may be that of an earlier try.

        Raises:
            LateAnswerError: there is no answer after so many seconds.
            Exception: the error of this try.
        """
        context = contextvars.copy_context()
        context.run(REQUEST_ID.set, f"{self._digest}-{number}")
        threading.Thread(
            target=context.run, args=(self._run, number, ask), daemon=True, name=f"answer-{number}"
        ).start()
        deadline = time.monotonic() + seconds
        while True:
            try:
                sent, result = self._results.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise LateAnswerError(seconds) from None
            if isinstance(result, Response):
                self._has_answer = True
                return result
            if sent == number:
                raise result

    def end(self) -> Response | None:
        """Abandon all tries; return an answer that has just arrived, if there is one."""
        with self._lock:
            self._has_ended = True
        while not self._results.empty():
            _, result = self._results.get()
            if isinstance(result, Response):
                self._has_answer = True
                return result
        return None

    def _run(self, number: int, ask: Callable[[], Response]) -> None:
        began = time.monotonic()
        result: Response | Exception
        try:
            result = ask()
        except Exception as error:  # noqa: BLE001 - raised in the waiting thread
            result = error
        with self._lock:
            if not self._has_ended:
                self._results.put((number, result))
                return
        if isinstance(result, Response) and not self._has_answer:
            with suppress(RunError):  # the run may just be closing; the call will then be made again
                self._journal.put(self._digest, record_of(result, time.monotonic() - began))


def _is_busy(error: Exception) -> bool:
    """Return whether a server that gave this error need not be checked before the next request."""
    return isinstance(error, LMRateLimitError | LMServerError)


def _is_passing(error: Exception) -> bool:
    """Return whether the same request may succeed on the same server later."""
    if isinstance(error, UnreachableModelError):
        return not isinstance(error, UnsuitableServerError)
    return bool(is_retryable_lm_error(error))


def _pause_after(error: Exception) -> float | None:
    """Return how long to leave out a server, None for the usual pause."""
    if isinstance(error, UnreachableModelError):
        return pause_after(error)
    requested: float | None = getattr(error, "retry_after", None)
    return MAX_PAUSE if requested is None and is_unsuitable(error) else requested
