"""Limits on the answers of servers: their size, and the time that they take.

A limit of an HTTP client is one on each read, which a server that sends a byte now and then never reaches; and a
body is read whole, and unpacked, whatever its size.
"""

import contextvars
import math
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any, Self, TypeVar

import httpx

from programs.errors import InputError

T = TypeVar("T")

ANSWER_SECONDS = 600.0  # what clients of hosted models wait; a model on a processor thinks for minutes
ANSWER_BYTES = 8 * 2**20  # the longest texts that models write are half a megabyte
_CONNECT_SECONDS = 10.0
_PACKED = ("gzip", "x-gzip", "deflate")


class UnusableAnswerError(Exception):
    """An answer of a server is refused; the message says why, with the server as its subject."""


class LateAnswerError(UnusableAnswerError):
    """An answer did not arrive in time."""

    def __init__(self, seconds: float) -> None:
        """Build the error from the seconds waited."""
        super().__init__(f"did not answer within {math.ceil(seconds * 10) / 10:g} seconds")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of a call, or stop waiting for it and leave its thread behind.

    Raises:
        LateAnswerError: it took longer than ``seconds``.
    """
    done: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - handed on to whoever waits
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="answer").start()
    if wait([done], max(0.0, seconds)).not_done:
        raise LateAnswerError(seconds)
    return done.result()


def bounding(most: int, seconds: float) -> Callable[[httpx.Response], None]:
    """Return a hook for responses that ends a body, unpacked, after so many bytes or so long.

    Reading the body raises :class:`UnusableAnswerError` then.
    """

    def bound(response: httpx.Response) -> None:
        coding = response.headers.pop("Content-Encoding", "identity").strip().lower()
        if coding not in (*_PACKED, "identity"):
            raise UnusableAnswerError(f"packs its answers in a way that was not asked for ({coding[:20]!r})")
        response.stream = _Bounded(response.stream, most, seconds, is_packed=coding in _PACKED)

    return bound


class _Bounded(httpx.SyncByteStream):
    """A body that ends with an error after so many bytes, or so long."""

    def __init__(self, stream: Any, most: int, seconds: float, *, is_packed: bool) -> None:
        self._stream, self._most, self._seconds = stream, most, seconds
        self._unpack = zlib.decompressobj(32 + zlib.MAX_WBITS) if is_packed else None

    def __iter__(self) -> Iterator[bytes]:
        left, until = self._most, time.monotonic() + self._seconds
        for part in self._stream:
            if time.monotonic() > until:
                raise LateAnswerError(self._seconds)
            plain = part if self._unpack is None else self._unpacked(part, left + 1)
            left -= len(plain)
            if left < 0:
                raise UnusableAnswerError(f"answered with more than {self._most / 2**20:g} MiB")
            yield plain

    def _unpacked(self, part: bytes, most: int) -> bytes:
        assert self._unpack is not None
        try:
            return self._unpack.decompress(part, most)
        except zlib.error as error:
            raise UnusableAnswerError("sent an answer that cannot be unpacked") from error

    def close(self) -> None:
        self._stream.close()


class ReceivedAnswer:
    """A whole answer, as DSPy's engine reads it."""

    def __init__(self, response: httpx.Response) -> None:
        """Wrap the received body."""
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
    """The transport of DSPy's engine, also used to list models; answers are limited."""

    def __init__(self, seconds: float = ANSWER_SECONDS, most: int = ANSWER_BYTES) -> None:
        """Open no connection yet.

        Raises:
            InputError: the environment names a proxy that needs a package more.
        """
        try:
            self._client = httpx.Client(
                timeout=httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
                headers={"Accept": "*/*", "Accept-Encoding": "identity"},
                event_hooks={"response": [bounding(most, seconds)]},
            )
        except ImportError as error:
            raise InputError(
                "the SOCKS proxy of ALL_PROXY needs one more package: pip install 'httpx[socks]'"
            ) from error

    def stream(self, request: Any) -> ReceivedAnswer:
        """Send a request of the engine and return the whole answer.

        Raises:
            dspy.lm15.TransportError: none came.
            UnusableAnswerError: it is longer than the limits.
        """
        from dspy.lm15 import TransportError

        try:
            return ReceivedAnswer(
                self._client.request(request.method, request.url, headers=request.headers, content=request.body or None)
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(str(error) or type(error).__name__) from error

    def get(self, url: str, headers: dict[str, str]) -> httpx.Response:
        """Ask for a page and return it whole.

        Raises:
            httpx.HTTPError: none came.
            UnusableAnswerError: it is longer than the limits.
        """
        return self._client.get(url, headers=headers)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
