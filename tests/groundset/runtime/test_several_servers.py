"""One model on several servers over real HTTP on loopback, and what servers do wrong."""

import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import LMError
from model_server import ModelServer

from groundset.engine.engine import fatal_error
from groundset.models import OpenAISpec, pool
from groundset.runtime.journal import MemoryJournal
from groundset.runtime.lms import open_lm
from programs.errors import UnknownModelError, UnreachableModelError

Servers = Callable[[int], list[ModelServer]]


@pytest.fixture
def start(serving: Any) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(serving()) for _ in range(count)]


class Counting(MemoryJournal):
    """Counts the answers and failures of servers."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: dict[str, list[int]] = {}

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        counts = self.counted.setdefault(server, [0, 0])
        counts[0] += calls
        counts[1] += failures


def opened(*servers: ModelServer, notes: list[str] | None = None, **options: Any) -> Any:
    return open_lm([server.spec for server in servers], notify=(notes if notes is not None else []).append, **options)


def ask(model: Any, text: str = "Who?") -> str:
    request = Request(model=model.lm.model, messages=(Message.user(text),), config=Config(max_tokens=5))
    return str(model.lm(request).message.text)


def right(text: str) -> str:
    said = f'[{{"role": "user", "content": "{text}"}}]'
    return f"What is {hashlib.sha256(said.encode()).hexdigest()}?"


def place(server: ModelServer) -> str:
    return f"127.0.0.1:{server.server_port}"


def reset(handler: Any, answer: bytes) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.rfile.close = handler.wfile.close = lambda: None
    handler.close_connection = True


def status(code: int, headers: dict[str, str] | None = None) -> Callable[[Any, bytes], None]:
    def send(handler: Any, answer: bytes) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": "2", **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(b"{}")

    return send


def body(text: bytes, length: int | None = None, headers: dict[str, str] | None = None) -> Callable[[Any, bytes], None]:
    """Send a body, with another length if it is given."""

    def send(handler: Any, answer: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text) if length is None else length))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)
        handler.close_connection = True

    return send


CHOICE = b'{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Lie"}}]%s}'
OTHER_ID = {"X-Request-Id": f"{'0' * 64}-1"}
FAULTS = {
    "closes the connection": reset,
    "closes half-way": body(CHOICE[:40], 400),
    "sends no JSON": body(b"<html>busy</html>"),
    "sends no choices": body(b"{}"),
    "sends binary rubbish": body(b"\x00\xff\xfe"),
    "reports impossible counts": body(CHOICE % b', "usage": {"prompt_tokens": -5}'),
    "answers another request": body(CHOICE % b"", headers=OTHER_ID),
    "fails": status(500),
    "is overloaded": status(503),
    "limits the rate": status(429, {"Retry-After": "3600"}),
    "rejects the key": status(401),
    "no longer serves the model": status(404),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_request_moves_to_another_server_at_once(start: Servers, fault: str) -> None:
    bad, good = start(2)
    notes: list[str] = []
    journal = Counting()
    with opened(bad, good, notes=notes, journal=journal) as model:
        bad.fault = FAULTS[fault]
        began = time.monotonic()
        assert ask(model) == right("Who?")
        assert ask(model, "Where?") == right("Where?")
        assert time.monotonic() - began < 1.0, "no pause"
    assert len(bad.texts) == 1
    assert len(good.texts) == 2
    [note] = notes
    assert note.startswith(f"{place(bad)} is left out: ")
    assert place(bad) in note.partition(": ")[2]
    assert ("closed the connection before it had answered" in note) == ("closes" in fault)
    assert journal.counted == {place(bad): [0, 1], place(good): [2, 0]}
    assert good.ids[0] == bad.ids[0].replace("-1", "-2")  # type: ignore[union-attr]


def test_server_that_is_away_is_left_out_and_comes_back(start: Servers, serving: Any) -> None:
    (good,) = start(1)
    notes: list[str] = []
    with ExitStack() as stack:
        away = stack.enter_context(serving())
        with opened(away, good, notes=notes) as model:
            assert ask(model) == right("Who?")
            assert len(away.texts) == 1, "ties go to the first"
            stack.close()
            assert [ask(model, f"{number}?") for number in range(3)] == [right(f"{number}?") for number in range(3)]
            assert len(good.texts) == 3
            with serving(port=away.server_port) as back:
                time.sleep(1.1)
                assert ask(model, "Back?") == right("Back?")
                assert len(back.texts) == 1
    assert notes[0].startswith(f"{place(away)} is left out: no model server answers at http://{place(away)}/v1;")
    assert notes[1:] == [f"{place(away)} is back after 1 seconds."]


def held(gate: threading.Event) -> Callable[[Any, bytes], None]:
    """Answer when a gate opens."""

    def send(handler: Any, answer: bytes) -> None:
        gate.wait(10)
        handler.server.fault = None
        body(answer)(handler, answer)

    return send


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_server_that_hangs_costs_one_time_limit(start: Servers) -> None:
    bad, good = start(2)
    notes: list[str] = []
    journal = Counting()
    gate = threading.Event()
    with opened(bad, good, notes=notes, timeout=0.5, journal=journal) as model:
        bad.fault = held(gate)
        began = time.monotonic()
        assert [ask(model, f"{number}?") for number in range(3)] == [right(f"{number}?") for number in range(3)]
        assert 0.5 <= time.monotonic() - began < 1.4
        gate.set()
        until(lambda: journal.counted.get(place(bad)) == [1, 1])
    assert len(bad.texts) == 1
    assert "did not answer within 0.5 seconds" in notes[0]
    assert len(journal._records) == 3


def test_late_answer_of_an_abandoned_request_is_kept(start: Servers) -> None:
    (server,) = start(1)
    journal, gate = Counting(), threading.Event()
    with opened(server, timeout=1.0, journal=journal) as model:
        server.fault = held(gate)
        with pytest.raises(LMError, match="did not answer within 1 seconds"):
            ask(model)
        assert journal._records == {}
        gate.set()
        until(lambda: journal._records)
        assert ask(model) == right("Who?")
        assert (model.usage()["calls"], model.usage()["replayed"]) == (0, 1)
    assert len(server.texts) == 1, "paid once"
    assert journal.counted == {place(server): [1, 1]}


def test_first_answer_counts_while_another_server_works_on_the_request(start: Servers) -> None:
    slow, slower = start(2)
    journal, first, never = Counting(), threading.Event(), threading.Event()
    with opened(slow, slower, timeout=2.0, journal=journal) as model:
        slow.fault, slower.fault = held(first), held(never)
        thread = threading.Timer(2.2, first.set)
        thread.start()
        began = time.monotonic()
        assert ask(model) == right("Who?")
        assert 2.0 < time.monotonic() - began < 3.5
        never.set()
        until(lambda: journal.counted.get(place(slower)) == [1, 0])
        assert len(journal._records) == 1
    thread.join()


def test_server_that_answers_twice_does_not_answer_the_next_request(start: Servers) -> None:
    (server,) = start(1)

    def twice(handler: Any, answer: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
        handler.wfile.write((head.encode() + answer) * 2)
        handler.close_connection = False

    with opened(server) as model:
        server.fault = twice
        assert [ask(model, f"{number}?") for number in range(4)] == [right(f"{number}?") for number in range(4)]


def test_answers_out_of_order_reach_their_requests(start: Servers) -> None:
    (server,) = start(1)
    second = threading.Event()

    def reversed_order(handler: Any, answer: bytes) -> None:
        if len(handler.server.texts) == 1:
            second.wait(5)
        body(answer)(handler, answer)
        second.set()

    got: dict[str, str] = {}
    with opened(server) as model:
        server.fault = reversed_order
        first = threading.Thread(target=lambda: got.update(one=ask(model, "one?")))
        first.start()
        until(lambda: server.texts)
        got["two"] = ask(model, "two?")
        first.join()
    assert got == {"one": right("one?"), "two": right("two?")}


def test_requests_go_to_the_least_busy_server(start: Servers) -> None:
    servers = start(3)
    gate = threading.Event()
    for server in servers:
        server.fault = lambda handler, answer: (gate.wait(10), body(answer)(handler, answer))[1]
    with opened(*servers) as model:
        threads = [threading.Thread(target=ask, args=(model, f"{number}?")) for number in range(6)]
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda sent=number + 1: sum(len(server.texts) for server in servers) == sent)
        asked = [[text.partition("?")[0][-1] for text in server.texts] for server in servers]
        assert asked == [["0", "3"], ["1", "4"], ["2", "5"]]
        gate.set()
        for thread in threads:
            thread.join()


def test_requests_wait_while_another_one_tries_the_server(start: Servers) -> None:
    (server,) = start(1)
    sent = iter(range(10))

    def fault(handler: Any, answer: bytes) -> None:
        number = next(sent)
        if number < 2:
            status(503)(handler, answer)
        else:
            time.sleep(1.5 if number == 2 else 0)
            body(answer)(handler, answer)

    got: dict[str, str] = {}
    with opened(server, timeout=2.0) as model:
        server.fault = fault
        threads = [
            threading.Thread(target=lambda text=text: got.update({text: ask(model, text)}))
            for text in ("1?", "2?", "3?")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {text: right(text) for text in ("1?", "2?", "3?")}


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2)])
def test_run_ends_when_all_servers_stay_out(start: Servers, retries: int, calls: int) -> None:
    servers = start(2)
    with opened(*servers, retries=retries) as model:
        for server in servers:
            server.fault = status(500)
        with pytest.raises(LMError) as caught:
            ask(model)
    failed = fatal_error(caught.value)
    assert failed is not None
    assert failed.exit_code == 1
    places = [f"the model server at http://{place(server)}/v1 failed with status 500" for server in servers]
    assert str(failed) == "; ".join(places)
    assert [len(server.texts) for server in servers] == [calls, calls]
    numbers = sorted(str(name).rpartition("-")[2] for server in servers for name in server.ids)
    assert numbers == [f"{number + 1}" for number in range(2 * calls)]


def test_rejected_request_is_not_a_failure_of_the_server(start: Servers) -> None:
    servers = start(2)
    notes: list[str] = []
    with opened(*servers, notes=notes) as model:
        servers[0].fault = status(400)
        with pytest.raises(LMError):
            ask(model)
        servers[0].fault = None
        assert ask(model) == right("Who?")
    assert notes == []
    assert [len(server.texts) for server in servers] == [2, 0]


def test_unsuitable_servers_are_left_out_from_the_start(start: Servers) -> None:
    good, other, locked = start(3)
    other.models, locked.status = ["elsewhere"], 401
    notes: list[str] = []
    with opened(other, locked, good, notes=notes) as model:
        assert [ask(model, f"{number}?") for number in range(3)] == [right(f"{number}?") for number in range(3)]
    assert other.texts == locked.texts == []
    assert sorted(notes) == sorted(
        [
            f"{place(other)} is left out: the model server at http://{place(other)}/v1 does not serve 'tiny'; "
            "it serves elsewhere.",
            f"{place(locked)} is left out: the model server at http://{place(locked)}/v1 needs an API key; "
            "set GROUNDSET_API_KEY.",
        ]
    )


def test_no_server_can_be_used(start: Servers) -> None:
    servers = start(2)
    for server in servers:
        server.status = 401
    with pytest.raises(
        UnreachableModelError, match=rf"{place(servers[0])}.*; .*{place(servers[1])}.*API key"
    ) as caught:
        opened(*servers)
    assert caught.value.exit_code == 2


def test_file_of_servers_is_read_again_while_running(
    start: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_LOOK_EVERY", 0.0)
    first, second = start(2)
    file, notes = tmp_path / "servers.txt", list[str]()

    def write(text: str) -> None:
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").replace(file)

    write(f"# one machine\n\nhttp://{place(first)}/v1/\n")
    with open_lm(f"openai/tiny@{file}", notify=notes.append) as model:
        assert model.name == "openai/tiny@server"
        assert ask(model, "1?") == right("1?")
        write(f"http://{place(second)}/v1\n")
        assert ask(model, "2?") == right("2?")
        write("nonsense\n")
        assert ask(model, "3?") == right("3?")
        write("")
        assert ask(model, "4?") == right("4?")
        file.unlink()
        assert ask(model, "5?") == right("5?")
        write(f"http://{place(second)}/v1\nhttp://{place(first)}/v1\n")
        assert ask(model, "6?") == right("6?")
    assert (len(first.texts), len(second.texts)) == (1, 5)
    assert notes == [
        f"Servers added: {place(second)}.",
        f"Servers taken away: {place(first)}.",
        f"{file}: line 1: 'nonsense': not a base URL such as http://host:port/v1; the servers stay as they were.",
        f"{file} has no base URL; the servers stay as they were.",
        f"{file} cannot be read: No such file or directory; the servers stay as they were.",
        f"Servers added: {place(first)}.",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "cannot be read"),
        ("", "has no base URL"),
        ("http://a/v1\nb:8000\n", "line 2: 'b:8000': not a base URL"),
        ("http://me:secret@a/v1\n", "line 1: the base URL of a must not contain credentials"),
    ],
)
def test_wrong_file_of_servers(tmp_path: Path, text: str | None, reason: str) -> None:
    file = tmp_path / "servers.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UnknownModelError, match=reason) as caught:
        open_lm(f"openai/tiny@{file}")
    assert caught.value.exit_code == 2
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        (("openai/a@http://x/v1", "openai/b@http://y/v1"), "all servers must serve the same model"),
        (("openai/a@http://x/v1", "model.gguf"), "model.gguf"),
        (("openai/a@http://x/v1", "openai/gpt-5"), "only openai/<model>@<base url> can be repeated"),
    ],
)
def test_several_models_are_refused(specs: tuple[str, ...], reason: str) -> None:
    with pytest.raises(UnknownModelError, match=reason):
        open_lm(specs)


def test_key_is_sent_only_to_addresses_named_one_by_one(
    start: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, listed = start(2)
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    monkeypatch.setattr(OpenAISpec, "is_local", False)  # treat the servers as remote
    (tmp_path / "servers.txt").write_text("".join(f"http://{place(server)}/v1\n" for server in (listed, named)))
    notes: list[str] = []
    with open_lm([named.spec, f"openai/tiny@{tmp_path / 'servers.txt'}"], notify=notes.append) as model:
        ask(model)
    assert (named.keys, listed.keys) == ({"Bearer mine"}, {"Bearer none"})
    assert notes == [
        f"GROUNDSET_API_KEY is not sent to {place(listed)}, because a file names this address; name it with --lm to "
        "send it.",
        f"Texts go to {place(named)}, {place(listed)}.",
    ]
