"""Limits on the size and duration of server answers.

The timeout of an HTTP client applies to each read, so a server that sends single bytes never exceeds it, and bodies
are read and decompressed whatever their size.
"""

import contextvars
import math
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import httpx

from programs.errors import InputError

T = TypeVar("T")

ANSWER_SECONDS = 600.0  # as in clients of hosted models; a model on a CPU may take minutes
ANSWER_BYTES = 8 * 2**20  # the longest completions have half a megabyte
_CONNECT_SECONDS = 10.0
_COMPRESSED = ("gzip", "x-gzip", "deflate")
_ID_HEADER = "X-Request-Id"
_OUR_ID = re.compile(r"[0-9a-f]{64}-\d+")
REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST_ID", default="")
"""The id of the request to a model that is being sent: the digest of the call and the number of the try."""


class UnusableAnswerError(Exception):
    """An invalid answer of a server; the message is a predicate whose subject is the server."""


class LateAnswerError(UnusableAnswerError):
    """An answer did not arrive in time."""

    def __init__(self, seconds: float) -> None:
        """Create the error after waiting for so many seconds."""
        super().__init__(f"did not answer within {math.ceil(seconds * 10) / 10:g} seconds")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of a call made in a daemon thread, which is abandoned after a timeout.

    Raises:
        LateAnswerError: the call took longer than ``seconds``.
    """
    done: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="answer").start()
    if wait([done], max(0.0, seconds)).not_done:
        raise LateAnswerError(seconds)
    return done.result()


def limit_hook(max_bytes: int, seconds: float) -> Callable[[httpx.Response], None]:
    """Return a hook for httpx that limits the decompressed size and duration of a response body.

    Reading a body that exceeds a limit raises :class:`UnusableAnswerError`.
    """

    def limit(response: httpx.Response) -> None:
        coding = response.headers.pop("Content-Encoding", "identity").strip().lower()
        if coding not in (*_COMPRESSED, "identity"):
            raise UnusableAnswerError(f"compresses answers in a way that was not requested ({coding[:20]!r})")
        response.stream = _LimitedStream(response.stream, max_bytes, seconds, is_compressed=coding in _COMPRESSED)

    return limit


class _LimitedStream(httpx.SyncByteStream):
    def __init__(self, stream: Any, max_bytes: int, seconds: float, *, is_compressed: bool) -> None:
        self._stream, self._max_bytes, self._seconds = stream, max_bytes, seconds
        self._decompressor = zlib.decompressobj(32 + zlib.MAX_WBITS) if is_compressed else None

    def __iter__(self) -> Iterator[bytes]:
        left, deadline = self._max_bytes, time.monotonic() + self._seconds
        for part in self._stream:
            if time.monotonic() > deadline:
                raise LateAnswerError(self._seconds)
            try:
                plain = part if self._decompressor is None else self._decompressor.decompress(part, left + 1)
            except zlib.error as error:
                raise UnusableAnswerError("sent an answer that cannot be decompressed") from error
            left -= len(plain)
            if left < 0:
                raise UnusableAnswerError(f"answered with more than {self._max_bytes / 2**20:g} MiB")
            yield plain

    def close(self) -> None:
        self._stream.close()


class ReceivedAnswer:
    """A complete answer with the interface of DSPy's engine."""

    def __init__(self, response: httpx.Response) -> None:
        """Read the body."""
        self.status = response.status_code
        self.reason = response.reason_phrase
        self.headers = list(response.headers.multi_items())
        self.http_version = response.http_version
        self._body = response.content

    def read(self) -> bytes:
        """Return the body."""
        return self._body

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body in one piece."""
        yield self._body

    def __enter__(self) -> Self:
        """Return the answer itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Do nothing: the body is complete."""


class BoundedTransport:
    """A transport for DSPy's engine with limited answers, also used to list models and to search Qdrant."""

    def __init__(self, seconds: float = ANSWER_SECONDS, max_bytes: int = ANSWER_BYTES) -> None:
        """Create an HTTP client; no connection is opened yet.

        Each request in flight has a client of its own, because httpx's pool examines all its connections for each
        request, and closes most of those that are idle.

        Raises:
            InputError: the environment names a proxy that needs another package.
        """
        self._limits = seconds, max_bytes
        self._certificates = httpx.create_ssl_context()  # takes longer than anything else about a client
        self._clients: list[httpx.Client] = []
        self._idle = deque([self._new_client()])

    def stream(self, request: Any) -> ReceivedAnswer:
        """Send a request of the engine and return the complete answer.

        Raises:
            dspy.lm15.TransportError: there is no answer.
            UnusableAnswerError: the answer exceeds a limit.
        """
        from dspy.lm15 import TransportError

        sent = REQUEST_ID.get()
        headers = [*request.headers, *([(_ID_HEADER, sent)] if sent else ())]
        try:
            with self._client() as client:
                answer = client.request(request.method, request.url, headers=headers, content=request.body or None)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(str(error) or type(error).__name__) from error
        received = answer.headers.get(_ID_HEADER, "")
        if received != sent and _OUR_ID.fullmatch(received):  # other servers return ids of their own
            raise UnusableAnswerError("sent the answer to another request")
        return ReceivedAnswer(answer)

    def get(self, url: str, headers: dict[str, str]) -> httpx.Response:
        """Send a GET request; see ``send``."""
        return self.send("GET", url, headers)

    def send(self, method: str, url: str, headers: dict[str, str], body: Any = None) -> httpx.Response:
        """Send a request, with a JSON body if there is one, and return the complete response.

        Raises:
            httpx.HTTPError: there is no answer.
            UnusableAnswerError: the answer exceeds a limit.
        """
        with self._client() as client:
            return client.request(method, url, headers=headers, json=body)

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    @contextmanager
    def _client(self) -> Iterator[httpx.Client]:
        """Yield a client that is not in use."""
        try:
            client = self._idle.pop()
        except IndexError:
            client = self._new_client()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _new_client(self) -> httpx.Client:
        seconds, max_bytes = self._limits
        try:
            client = httpx.Client(
                timeout=httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
                # A new connection for every request: after a second answer to a request, or an answer that was
                # abandoned, a connection that is kept would give it to the next request.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
                headers={"Accept": "*/*", "Accept-Encoding": "identity"},
                event_hooks={"response": [limit_hook(max_bytes, seconds)]},
                verify=self._certificates,
            )
        except ImportError as error:
            raise InputError("the SOCKS proxy of ALL_PROXY needs a package: pip install 'httpx[socks]'") from error
        self._clients.append(client)
        return client
