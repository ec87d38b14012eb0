"""Slow and oversized requests over real sockets."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from httpx import Client

from groundset.review import access, server
from groundset.review.session import ReviewSession

Sent = Callable[..., socket.socket]


@pytest.fixture
def address(make_run) -> Iterator[str]:
    with ReviewSession([make_run()], "reader") as session, server.serving(session) as address:
        yield address


@pytest.fixture
def send(address: str) -> Iterator[Sent]:
    """Send a request that is not finished, with these headers and this much of its body."""
    opened: list[socket.socket] = []
    place = urlsplit(address)

    def send(*headers: str, body: bytes = b"do=sign") -> socket.socket:
        opened.append(socket.create_connection((place.hostname, place.port), timeout=30))
        form = "Content-Type: application/x-www-form-urlencoded"
        lines = [f"POST {place.path}all HTTP/1.1", f"Host: {place.netloc}", form, *headers, "", ""]
        opened[-1].sendall("\r\n".join(lines).encode() + body)
        return opened[-1]

    yield send
    for each in opened:
        each.close()


def seconds_for_a_page(address: str) -> float:
    started = time.monotonic()
    with Client(trust_env=False) as client:
        assert client.get(address, follow_redirects=True).status_code == 200
    return time.monotonic() - started


def test_slow_clients_do_not_block_others(address: str, send: Sent) -> None:
    for _ in range(50):
        send("Content-Length: 100")
    assert seconds_for_a_page(address) < 4


@pytest.mark.parametrize("drips", [False, True])
def test_slow_requests_time_out(address: str, send: Sent, monkeypatch: pytest.MonkeyPatch, drips: bool) -> None:
    monkeypatch.setattr(access, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(server._SilentHandler, "timeout", 0.3)
    caller = send("Content-Length: 100")
    caller.settimeout(0.1)
    for _ in range(50):
        with suppress(TimeoutError):
            assert b" 408 " in caller.recv(100)
            return
        if drips:
            caller.sendall(b"x")
    pytest.fail("it is still waited for")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (("Content-Length: 1000001",), b" 413 "),
        (("Content-Length: 99999999999999999999",), b" 413 "),
        (("Transfer-Encoding: chunked",), b" 411 "),
    ],
)
def test_oversized_and_chunked_bodies_are_rejected(send: Sent, headers: tuple[str, ...], status: bytes) -> None:
    assert status in send(*headers).recv(100)


@pytest.mark.parametrize("length", ["-5", "many", ""])
def test_invalid_content_length(send: Sent, length: str) -> None:
    assert b" 400 " in send(f"Content-Length: {length}", body=b"").recv(100)


def test_truncated_body(send: Sent) -> None:
    caller = send("Content-Length: 100")
    caller.shutdown(socket.SHUT_WR)
    assert b" 400 " in caller.recv(100)
