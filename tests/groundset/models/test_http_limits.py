"""What is taken of a server's answer: so many bytes, for so long, over real sockets on loopback."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from dspy.lm15 import TransportError

from groundset.models.http_limits import BoundedTransport, LateAnswerError, UnusableAnswerError, within
from programs.errors import InputError

Say = Callable[[socket.socket], None]


@pytest.fixture
def answered() -> Iterator[Callable[[Say], str]]:
    """Serve one request by a function; what it does ends with the test."""
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def answered(say: Say) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def serve() -> None:
            with suppress(OSError):
                caller, _ = listening.accept()
                opened.append(caller)
                caller.recv(65_536)
                say(caller)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}/v1/models"

    yield answered
    for each in opened:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
    for thread in threads:
        thread.join()


@pytest.fixture
def get() -> Iterator[Callable[..., bytes]]:
    transports: list[BoundedTransport] = []

    def get(url: str, seconds: float = 5, most: int = 1000) -> bytes:
        transports.append(BoundedTransport(seconds, most))
        return transports[-1].get(url, {}).content

    yield get
    for each in transports:
        each.close()


def whole(body: bytes, *headers: bytes) -> Say:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""]
    return lambda caller: caller.sendall(b"\r\n".join(lines) + body)


def endless(head: bytes, part: bytes) -> Say:
    def say(caller: socket.socket) -> None:
        caller.sendall(head)
        while True:
            caller.sendall(part)

    return say


@pytest.mark.parametrize("size", [0, 999, 1000])
def test_an_answer_within_the_limit_is_whole(answered, get, size):
    assert get(answered(whole(b"x" * size))) == b"x" * size


@pytest.mark.parametrize(
    ("coding", "packed"),
    [(b"gzip", gzip.compress(b"hello", mtime=0)), (b"deflate", zlib.compress(b"hello"))],
    ids=["gzip", "deflate"],
)
def test_a_packed_answer_is_unpacked_though_nobody_asked_for_it(answered, get, coding, packed):
    assert get(answered(whole(packed, b"Content-Encoding: " + coding))) == b"hello"


@pytest.mark.parametrize(
    "say",
    [
        whole(b"x" * 1001),
        whole(gzip.compress(b"x" * 10_000_000, mtime=0), b"Content-Encoding: gzip"),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100),
        endless(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        endless(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", b"x" * 100),
    ],
)
def test_an_answer_over_the_limit_is_not_taken(answered, get, say):
    with pytest.raises(UnusableAnswerError, match=r"^answered with more than .* MiB$"):
        get(answered(say))


@pytest.mark.parametrize("coding", [b"gzip, gzip", b"br", b"zstd"])
def test_an_answer_packed_in_another_way_is_not_taken(answered, get, coding):
    with pytest.raises(UnusableAnswerError, match="packs its answers"):
        get(answered(whole(b"x", b"Content-Encoding: " + coding)))


def test_an_answer_that_only_claims_to_be_packed_is_not_taken(answered, get):
    with pytest.raises(UnusableAnswerError, match="cannot be unpacked"):
        get(answered(whole(b"hello", b"Content-Encoding: gzip")))


def test_a_trickle_ends_in_time(answered, get):
    def say(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            time.sleep(0.05)
            caller.sendall(b"x")

    started = time.monotonic()
    with pytest.raises(LateAnswerError, match=r"^did not answer within 0\.3 seconds$"):
        get(answered(say), seconds=0.3)
    assert time.monotonic() - started < 3


def test_the_engine_is_told_that_no_answer_came(answered):
    class Request:
        method, headers, body = "POST", (), b"{}"
        url = answered(lambda caller: caller.close())

    transport = BoundedTransport(5)
    with pytest.raises(TransportError):
        transport.stream(Request)
    transport.close()


def test_work_is_waited_for_so_long():
    assert within(5, lambda: 7) == 7
    with pytest.raises(KeyError, match="it"):
        within(5, lambda: {}["it"])
    over = threading.Event()
    with pytest.raises(LateAnswerError):
        within(0.1, lambda: over.wait(10))
    over.set()


def test_a_proxy_that_needs_a_package_is_said_to(monkeypatch):
    def fail(**options):
        raise ImportError("Using SOCKS proxy, but the 'socksio' package is not installed.")

    monkeypatch.setattr("groundset.models.http_limits.httpx.Client", fail)
    with pytest.raises(InputError, match=r"ALL_PROXY needs one more package: pip install 'httpx\[socks\]'"):
        BoundedTransport()
