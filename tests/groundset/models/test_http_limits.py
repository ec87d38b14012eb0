"""Limits on the size and duration of answers, over real sockets on loopback."""

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

Reply = Callable[[socket.socket], None]


@pytest.fixture
def serve() -> Iterator[Callable[[Reply], str]]:
    """Return a function that answers one request with a function, and returns the URL."""
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(reply: Reply) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def run() -> None:
            with suppress(OSError):
                client, _ = listening.accept()
                opened.append(client)
                client.recv(65_536)
                reply(client)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}/v1/models"

    yield start
    for each in opened:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
    for thread in threads:
        thread.join()


@pytest.fixture
def get() -> Iterator[Callable[..., bytes]]:
    transports: list[BoundedTransport] = []

    def get(url: str, seconds: float = 5, max_bytes: int = 1000) -> bytes:
        transports.append(BoundedTransport(seconds, max_bytes))
        return transports[-1].get(url, {}).content

    yield get
    for each in transports:
        each.close()


def complete(body: bytes, *headers: bytes) -> Reply:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""]
    return lambda client: client.sendall(b"\r\n".join(lines) + body)


def endless(head: bytes, part: bytes) -> Reply:
    def reply(client: socket.socket) -> None:
        client.sendall(head)
        while True:
            client.sendall(part)

    return reply


@pytest.mark.parametrize("size", [0, 999, 1000])
def test_answer_within_the_limit(serve, get, size):
    assert get(serve(complete(b"x" * size))) == b"x" * size


@pytest.mark.parametrize(
    ("coding", "compressed"),
    [(b"gzip", gzip.compress(b"hello", mtime=0)), (b"deflate", zlib.compress(b"hello"))],
    ids=["gzip", "deflate"],
)
def test_compressed_answer_is_decompressed(serve, get, coding, compressed):
    assert get(serve(complete(compressed, b"Content-Encoding: " + coding))) == b"hello"


@pytest.mark.parametrize(
    "reply",
    [
        complete(b"x" * 1001),
        complete(gzip.compress(b"x" * 10_000_000, mtime=0), b"Content-Encoding: gzip"),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100),
        endless(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        endless(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", b"x" * 100),
    ],
)
def test_answer_over_the_limit(serve, get, reply):
    with pytest.raises(UnusableAnswerError, match=r"^answered with more than .* MiB$"):
        get(serve(reply))


@pytest.mark.parametrize("coding", [b"gzip, gzip", b"br", b"zstd", b"gzip"])
def test_unknown_or_damaged_compression(serve, get, coding):
    with pytest.raises(UnusableAnswerError, match="compress"):
        get(serve(complete(b"hello", b"Content-Encoding: " + coding)))


def test_slow_answer_times_out(serve, get):
    def reply(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            time.sleep(0.05)
            client.sendall(b"x")

    started = time.monotonic()
    with pytest.raises(LateAnswerError, match=r"^did not answer within 0\.3 seconds$"):
        get(serve(reply), seconds=0.3)
    assert time.monotonic() - started < 3


def test_missing_answer_is_a_transport_error(serve):
    class Request:
        method, headers, body = "POST", (), b"{}"
        url = serve(lambda client: client.close())

    transport = BoundedTransport(5)
    with pytest.raises(TransportError):
        transport.stream(Request)
    transport.close()


def test_within():
    assert within(5, lambda: 7) == 7
    with pytest.raises(KeyError, match="it"):
        within(5, lambda: {}["it"])
    done = threading.Event()
    with pytest.raises(LateAnswerError):
        within(0.1, lambda: done.wait(10))
    done.set()


def test_error_of_a_socks_proxy_names_the_package(monkeypatch):
    def fail(**options):
        raise ImportError("Using SOCKS proxy, but the 'socksio' package is not installed.")

    monkeypatch.setattr("groundset.models.http_limits.httpx.Client", fail)
    with pytest.raises(InputError, match=r"pip install 'httpx\[socks\]'"):
        BoundedTransport()
