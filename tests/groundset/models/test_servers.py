"""Checks of model servers, over real HTTP on loopback."""

import contextlib
import json
import logging
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import LMError

from groundset.engine.engine import fatal_error
from groundset.models import OpenAISpec, ensure_available, parse_spec, servers
from groundset.models.http_limits import BoundedTransport, UnusableAnswerError
from groundset.runtime.lms import open_lm
from programs.errors import UnreachableModelError

MODELS, CHAT = "/v1/models", "/v1/chat/completions"
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "tiny",
    "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Yes"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
NO_ROUTE = (404, {"detail": "Not Found"})
NO_MODEL = (404, {"error": {"message": "The model `tiny` does not exist.", "type": "NotFoundError", "code": 404}})
NO_KEY = (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})


def listed(*names: str) -> tuple[int, Any]:
    return 200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


class Server(ThreadingHTTPServer):
    answers: dict[str, tuple[int, Any]]
    seen: list[tuple[str, str | None]]
    delay: float  # of completions


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        status, body = self.server.answers.get(self.path, NO_ROUTE)
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the client has timed out
            self.wfile.write(text)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        threading.Event().wait(self.server.delay)
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


Serve = Callable[..., Server]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    monkeypatch.delenv("GROUNDSET_API_KEY", raising=False)
    servers.check_served.cache_clear()  # another server may have had the same port
    started = []

    def serve(answers: dict[str, tuple[int, Any]], host: str = "127.0.0.1") -> Server:
        server = Server((host, 0), Handler)
        server.answers, server.seen, server.delay = answers, [], 0.0
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        started.append((server, thread))
        return server

    yield serve
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


def check(port: int, model: str = "tiny") -> None:
    ensure_available(parse_spec(f"openai/{model}@http://127.0.0.1:{port}/v1"))


def refusal(port: int, model: str = "tiny") -> str:
    with pytest.raises(UnreachableModelError) as caught:
        check(port, model)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert "\n" not in message
    assert not [word for word in ("Error", "lm", "httpx", "Errno", "Traceback") if word in message]
    return message.replace(f"http://127.0.0.1:{port}/v1", "URL")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("name", ["tiny", "tiny:latest"])
def test_listed_model_is_probed_once(serve: Serve, name: str) -> None:
    server = serve({MODELS: listed("other", name), CHAT: (200, COMPLETION)})
    check(server.server_port)
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer none"), (CHAT, "Bearer none")]
    assert logging.getLogger("dspy.clients.lm").level == logging.NOTSET


def test_line_end_of_a_key_is_stripped(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine\n")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer mine"), (CHAT, "Bearer mine")]


@pytest.mark.parametrize("key", ["sk-SÉCRET", "sk-SEC\nRET"])
def test_invalid_key_is_rejected_and_not_printed(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", key)
    with pytest.raises(UnreachableModelError) as caught:
        check(free_port())
    assert "GROUNDSET_API_KEY" in str(caught.value)
    assert "RET" not in "".join(traceback.format_exception(caught.value))


def test_key_for_another_server_is_not_sent(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    server = serve({CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer mine"), (CHAT, "Bearer mine")]


@pytest.mark.parametrize("answer", [NO_ROUTE, (403, {}), (200, "<html>"), (200, {"models": []}), listed("alias.gguf")])
def test_server_without_a_usable_list_is_accepted(serve: Serve, answer: tuple[int, Any]) -> None:
    server = serve({MODELS: answer, CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert [path for path, _ in server.seen] == [MODELS, CHAT]


def test_no_server() -> None:
    assert refusal(free_port()).startswith("no model server answers at URL;")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b""])
def test_list_without_an_end(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(servers, "_LIST_SECONDS", 0.5)
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as endless:

        def send_slowly() -> None:
            client, _ = endless.accept()
            with client, contextlib.suppress(OSError):
                client.sendall(start)
                while not done.wait(0.05):
                    client.sendall(b"x" if start else b"")

        thread = threading.Thread(target=send_slowly)
        thread.start()
        started = time.monotonic()
        message = refusal(endless.getsockname()[1])
        done.set()
        thread.join()
    assert message == "the model server at URL did not answer within 0.5 seconds"
    assert time.monotonic() - started < 5


def test_slow_model(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_TOKEN_SECONDS", 0.2)
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    server.delay = 1.0
    assert "did not answer within 0.2 seconds" in refusal(server.server_port)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_local_servers_bypass_proxies(serve: Serve, monkeypatch: pytest.MonkeyPatch, host: str, variable: str) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("NO_PROXY", "internal.example")
    proxy = serve({})
    monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.server_port}")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)}, "0.0.0.0")
    with open_lm(f"openai/tiny@http://{host}:{server.server_port}/v1") as model:
        request = Request(model=model.lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1))
        assert model.lm(request).message.text == "Yes"
    assert [path for path, _ in server.seen] == [MODELS, CHAT, CHAT]
    assert proxy.seen == []
    assert "internal.example" in os.environ["NO_PROXY"]


def test_key_is_not_sent_to_an_address_from_a_file(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    spec = OpenAISpec("tiny", f"http://127.0.0.1:{server.server_port}/v1", takes_key=False)
    notices: list[str] = []
    with open_lm(spec, notify=notices.append) as model:
        model.lm(Request(model=model.lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    assert [key for _, key in server.seen] == ["Bearer none"] * 3
    [notice] = notices
    assert notice.startswith(f"GROUNDSET_API_KEY is not sent to 127.0.0.1:{server.server_port}")
    server.answers[CHAT] = NO_KEY
    servers.check_served.cache_clear()
    with pytest.raises(UnreachableModelError, match="--lm"):
        ensure_available(spec)


def test_recipient_of_texts_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(servers, "check_served", lambda spec: None)
    with open_lm("openai/tiny@http://gpu.example:8000/v1"):
        assert capsys.readouterr().err == "Texts go to gpu.example:8000.\n"
    with open_lm("openai/tiny@http://localhost:8000/v1"):
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {}), "the model server at URL needs an API key; set GROUNDSET_API_KEY"),
        ((404, {}), "the model server at URL has no chat completions at this address; most base URLs end in /v1"),
        ((500, {"error": {"message": "out of memory"}}), "the model server at URL failed with status 500"),
        ((200, "<html>"), "the model server at URL does not answer like a model server; check the address"),
    ],
)
def test_later_failures_are_explained(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, Any], message: str
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with open_lm(f"openai/tiny@{url}") as model:
        server.answers[CHAT] = answer
        with pytest.raises(LMError) as caught:
            model.lm(Request(model=model.lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    failed = fatal_error(caught.value)
    assert failed is not None
    assert failed.exit_code == 1
    assert str(failed).replace(url, "URL") == message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("litellm.BadRequestError: OpenAIException - too many tokens\nmore", "too many tokens"),
        ("litellm.AuthenticationError: AuthenticationError: OpenAIException - no key", "no key"),
        ("[openai/m] what is wrong", "[openai/m] what is wrong"),
        ("", "ValueError"),
    ],
)
def test_first_line(text: str, line: str) -> None:
    assert servers.first_line(ValueError(text)) == line


def test_server_without_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            client, _ = other.accept()
            with client:
                client.sendall(b"220 mail.example ESMTP\r\n")
                client.recv(4096)

        thread = threading.Thread(target=greet)
        thread.start()
        assert "not HTTP" in refusal(other.getsockname()[1])
        thread.join()


def test_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*arguments: object, **options: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(UnreachableModelError, match=r"^no model server at http://gpu/v1: unknown host"):
        ensure_available(parse_spec("openai/tiny@http://gpu/v1"))


def test_https_address_of_an_http_server(serve: Serve) -> None:
    port = serve({}).server_port
    with pytest.raises(UnreachableModelError, match=r"^no secure connection to the model server at https://"):
        ensure_available(parse_spec(f"openai/tiny@https://127.0.0.1:{port}/v1"))


@pytest.mark.parametrize("models", [NO_KEY, NO_ROUTE, listed("tiny")])
def test_missing_or_wrong_key(serve: Serve, models: tuple[int, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    port = serve({MODELS: models, CHAT: NO_KEY}).server_port
    assert refusal(port) == "the model server at URL needs an API key; set GROUNDSET_API_KEY"
    monkeypatch.setenv("GROUNDSET_API_KEY", "wrong")
    assert refusal(port) == "the model server at URL rejects the API key in GROUNDSET_API_KEY"


@pytest.mark.parametrize("answer", [NO_MODEL, (400, {"error": "unknown"}), NO_ROUTE])
def test_model_is_not_served(serve: Serve, answer: tuple[int, Any]) -> None:
    port = serve({MODELS: listed("a", "b"), CHAT: answer}).server_port
    assert refusal(port) == "the model server at URL does not serve 'tiny'; it serves a, b"
    many = serve({MODELS: listed(*"abcdefg"), CHAT: answer}).server_port
    assert refusal(many) == "the model server at URL does not serve 'tiny'; it serves a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({MODELS: NO_ROUTE, CHAT: NO_MODEL}, "does not serve 'tiny'"),
        ({MODELS: listed(), CHAT: NO_MODEL}, "does not serve 'tiny'"),
        ({}, "has no chat completions"),
        ({MODELS: (503, {}), CHAT: (503, {"error": "Loading"})}, "is busy or still loading the model (503)"),
        ({CHAT: (500, {"error": {"message": "out of memory"}})}, "failed with status 500"),
    ],
)
def test_server_cannot_serve_the_model(serve: Serve, answers: dict[str, tuple[int, Any]], message: str) -> None:
    assert refusal(serve(answers).server_port).startswith(f"the model server at URL {message}")


def test_rejected_probe_is_not_a_failure(serve: Serve) -> None:
    check(serve({CHAT: (400, {"error": {"message": "max_tokens must be 16 or more"}})}).server_port)
    check(serve({CHAT: (429, {"error": {"message": "slow down"}})}).server_port)


@pytest.mark.parametrize(
    "answer", ["<html>", "\0\1", "[]", "7", "null", "{}", '{"choices": []}', '{"choices": 5}', "[" * 9999]
)
def test_invalid_answer(serve: Serve, answer: str) -> None:
    server = serve({MODELS: (200, answer), CHAT: (200, answer)})
    assert "does not answer like a model server" in refusal(server.server_port)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("openai/gpt-5-mini", "openai/gpt-5-mini needs an API key; set OPENAI_API_KEY"),
        ("anthropic/claude", "anthropic/claude needs an API key; set ANTHROPIC_API_KEY"),
        ("nobody/model", "nobody/model: unknown provider 'nobody'"),
    ],
)
def test_hosted_models_without_a_key_or_provider(spec: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UnreachableModelError) as caught:
        ensure_available(parse_spec(spec))
    assert str(caught.value) == message


def test_hosted_model_is_probed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve({CHAT: (200, COMPLETION)})
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    ensure_available(parse_spec("openai/tiny-one"))
    assert server.seen == [(CHAT, "Bearer theirs")]
    server.answers[CHAT] = NO_KEY
    with pytest.raises(UnreachableModelError, match=r"^openai/tiny-two rejects the API key in "):
        ensure_available(parse_spec("openai/tiny-two"))
    server.answers[CHAT] = NO_MODEL
    with pytest.raises(UnreachableModelError, match=r"^openai/tiny-two: the provider has no such model$"):
        ensure_available(parse_spec("openai/tiny-two"))


def test_texts_of_servers_are_truncated_in_messages(serve: Serve) -> None:
    models = listed("n" * 100_000, "m")
    message = refusal(serve({MODELS: models, CHAT: NO_MODEL}).server_port)
    assert message == f"the model server at URL does not serve 'tiny'; it serves {'n' * 100}, m"
    assert servers.first_line(ValueError("x" * 1_000_000)) == f"{'x' * 500} …"


def test_address_of_hosted_models_is_ignored_for_other_servers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    hosted = serve({CHAT: (200, COMPLETION)})
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{hosted.server_port}/v1")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert [path for path, _ in server.seen] == [MODELS, CHAT]
    assert hosted.seen == []


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "groq"])
def test_hosted_models_use_the_limited_transport(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(transport: BoundedTransport, request: Any) -> None:
        raise UnusableAnswerError("was called with limits")

    monkeypatch.setattr(BoundedTransport, "stream", refuse)
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "mine")
    with pytest.raises(UnreachableModelError, match=rf"^{provider}/limited was called with limits"):
        ensure_available(parse_spec(f"{provider}/limited"))
