"""Servers that can be used and servers that cannot, over real HTTP on loopback."""

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
        with contextlib.suppress(BrokenPipeError):  # nobody waits any more
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
    told = str(caught.value)
    assert "\n" not in told
    assert not [word for word in ("Error", "lm", "httpx", "Errno", "Traceback") if word in told]
    return told.replace(f"http://127.0.0.1:{port}/v1", "URL")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("name", ["tiny", "tiny:latest"])
def test_a_listed_model_is_asked_for_one_token_and_only_once(serve: Serve, name: str) -> None:
    server = serve({MODELS: listed("other", name), CHAT: (200, COMPLETION)})
    check(server.server_port)
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer none"), (CHAT, "Bearer none")]
    assert logging.getLogger("dspy.clients.lm").level == logging.NOTSET, "as it was"


def test_a_wrong_key_is_found_where_everybody_is_told_the_models(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "wrong")
    port = serve({MODELS: listed("tiny"), CHAT: NO_KEY}).server_port
    assert refusal(port) == "the model server at URL refuses the key in GROUNDSET_API_KEY"


def test_a_line_end_after_a_key_is_left_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine\n")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer mine"), (CHAT, "Bearer mine")]


@pytest.mark.parametrize("key", ["sk-SÉCRET", "sk-SEC\nRET"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_told(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", key)
    with pytest.raises(UnreachableModelError) as caught:
        check(free_port())
    assert str(caught.value) == "the key in GROUNDSET_API_KEY holds characters that none has; set it anew"
    assert "RET" not in "".join(traceback.format_exception(caught.value))


def test_the_key_of_another_server_is_not_sent(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    server = serve({CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert server.seen == [(MODELS, "Bearer mine"), (CHAT, "Bearer mine")]


@pytest.mark.parametrize("answer", [NO_ROUTE, (403, {}), (200, "<html>"), (200, {"models": []}), listed("alias.gguf")])
def test_a_server_that_answers_to_the_name_will_do_whatever_it_lists(serve: Serve, answer: tuple[int, Any]) -> None:
    server = serve({MODELS: answer, CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert [path for path, _ in server.seen] == [MODELS, CHAT]


def test_nothing_listens() -> None:
    assert refusal(free_port()) == "no model server answers at URL: is it running, and is the address right?"


def test_a_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_LIST_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        told = refusal(silent.getsockname()[1])
    assert told == "the model server at URL did not answer within 0.2 seconds"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b""])
def test_a_server_that_answers_without_an_end(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(servers, "_LIST_SECONDS", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as endless:

        def drip() -> None:
            talk, _ = endless.accept()
            with talk, contextlib.suppress(OSError):
                talk.sendall(sent)
                while not over.wait(0.05):
                    talk.sendall(b"x" if sent else b"")

        thread = threading.Thread(target=drip)
        thread.start()
        started = time.monotonic()
        told = refusal(endless.getsockname()[1])
        over.set()
        thread.join()
    assert told == "the model server at URL did not answer within 0.5 seconds"
    assert time.monotonic() - started < 5


def test_a_model_that_does_not_come(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_TOKEN_SECONDS", 0.2)
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    server.delay = 1.0
    late = "a model that takes longer to load must be loaded before"
    assert refusal(server.server_port) == f"the model server at URL did not answer within 0.2 seconds; {late}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_requests_to_this_machine_pass_by_proxies(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, host: str, variable: str
) -> None:
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
    assert "internal.example" in os.environ["NO_PROXY"], "what the user has set stays"


def test_a_key_stays_here_where_only_a_file_named_the_address(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    spec = OpenAISpec("tiny", f"http://127.0.0.1:{server.server_port}/v1", takes_key=False)
    told: list[str] = []
    with open_lm(spec, notify=told.append) as model:
        model.lm(Request(model=model.lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    assert [key for _, key in server.seen] == ["Bearer none"] * 3
    line = f"GROUNDSET_API_KEY is not sent to 127.0.0.1:{server.server_port}: a file names that address."
    assert told == [f"{line} Name the model with --lm to send it."]
    server.answers[CHAT] = NO_KEY
    servers.check_served.cache_clear()
    with pytest.raises(UnreachableModelError, match="a file names that address"):
        ensure_available(spec)


def test_who_gets_texts_is_said_before_the_first_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(servers, "check_served", lambda spec: None)
    with open_lm("openai/tiny@http://gpu.example:8000/v1"):
        assert capsys.readouterr().err == "Texts go to gpu.example:8000.\n"
    with open_lm("openai/tiny@http://localhost:8000/v1"):
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((401, {}), "the model server at URL wants a key: put it into GROUNDSET_API_KEY"),
        ((404, {}), "the model server at URL offers no chat completions there: a base URL mostly ends in /v1"),
        ((500, {"error": {"message": "out of memory"}}), "the model server at URL failed with status 500"),
        ((200, "<html>"), "the model server at URL answers, but not as a model server does: is the address right?"),
    ],
)
def test_what_goes_wrong_later_is_said_in_our_own_words(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, Any], told: str
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between tries
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with open_lm(f"openai/tiny@{url}") as model:
        server.answers[CHAT] = answer
        with pytest.raises(LMError) as caught:
            model.lm(Request(model=model.lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    failed = fatal_error(caught.value)
    assert failed is not None
    assert failed.exit_code == 1
    assert str(failed).replace(url, "URL") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("litellm.BadRequestError: OpenAIException - too many tokens\nmore", "too many tokens"),
        ("litellm.AuthenticationError: AuthenticationError: OpenAIException - no key", "no key"),
        ("[openai/m] what is wrong", "[openai/m] what is wrong"),
        ("", "ValueError"),
    ],
)
def test_the_words_of_libraries_are_left_out(said: str, told: str) -> None:
    assert servers.plain_words(ValueError(said)) == told


def test_something_that_speaks_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            talk, _ = other.accept()
            with talk:
                talk.sendall(b"220 mail.example ESMTP\r\n")
                talk.recv(4096)

        thread = threading.Thread(target=greet)
        thread.start()
        assert refusal(other.getsockname()[1]) == "what answers at URL is no model server: it does not speak HTTP"
        thread.join()


def test_a_host_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*arguments: object, **options: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(UnreachableModelError, match=r"^no model server at http://gpu/v1: its host is unknown here$"):
        ensure_available(parse_spec("openai/tiny@http://gpu/v1"))


def test_http_where_https_was_named(serve: Serve) -> None:
    port = serve({}).server_port
    with pytest.raises(UnreachableModelError, match=r"^no secure connection to the model server at https://"):
        ensure_available(parse_spec(f"openai/tiny@https://127.0.0.1:{port}/v1"))


@pytest.mark.parametrize("models", [NO_KEY, NO_ROUTE])
def test_a_key_is_wanted_or_refused(serve: Serve, models: tuple[int, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    port = serve({MODELS: models, CHAT: NO_KEY}).server_port
    assert refusal(port) == "the model server at URL wants a key: put it into GROUNDSET_API_KEY"
    monkeypatch.setenv("GROUNDSET_API_KEY", "wrong")
    assert refusal(port) == "the model server at URL refuses the key in GROUNDSET_API_KEY"


@pytest.mark.parametrize("answer", [NO_MODEL, (400, {"error": "unknown"}), NO_ROUTE])
def test_a_model_that_is_not_served(serve: Serve, answer: tuple[int, Any]) -> None:
    port = serve({MODELS: listed("a", "b"), CHAT: answer}).server_port
    assert refusal(port) == "the model server at URL does not serve 'tiny'; it serves a, b"
    many = serve({MODELS: listed(*"abcdefg"), CHAT: answer}).server_port
    assert refusal(many) == "the model server at URL does not serve 'tiny'; it serves a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({MODELS: NO_ROUTE, CHAT: NO_MODEL}, "does not serve 'tiny'"),
        ({MODELS: listed(), CHAT: NO_MODEL}, "does not serve 'tiny'"),
        ({}, "offers no chat completions there: a base URL mostly ends in /v1"),
        ({MODELS: (503, {}), CHAT: (503, {"error": "Loading"})}, "is busy or still loads its model (503): try again"),
        ({CHAT: (500, {"error": {"message": "out of memory"}})}, "failed with status 500"),
    ],
)
def test_a_server_that_cannot_serve_the_model(serve: Serve, answers: dict[str, tuple[int, Any]], told: str) -> None:
    assert refusal(serve(answers).server_port) == f"the model server at URL {told}"


def test_a_request_for_one_token_that_is_refused_tells_nothing(serve: Serve) -> None:
    check(serve({CHAT: (400, {"error": {"message": "max_tokens must be 16 or more"}})}).server_port)
    check(serve({CHAT: (429, {"error": {"message": "slow down"}})}).server_port)


@pytest.mark.parametrize(
    "answer", ["<html>", "\0\1", "[]", "7", "null", "{}", '{"choices": []}', '{"choices": 5}', "[" * 9999]
)
def test_a_server_that_answers_rubbish(serve: Serve, answer: str) -> None:
    told = "the model server at URL answers, but not as a model server does: is the address right?"
    assert refusal(serve({MODELS: (200, answer), CHAT: (200, answer)}).server_port) == told


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openai/gpt-5-mini", "openai/gpt-5-mini wants a key: put it into OPENAI_API_KEY"),
        ("anthropic/claude", "anthropic/claude wants a key: put it into ANTHROPIC_API_KEY"),
        ("nobody/model", "nobody/model: no provider is called 'nobody'"),
    ],
)
def test_hosted_models_without_a_key_or_a_provider(spec: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UnreachableModelError) as caught:
        ensure_available(parse_spec(spec))
    assert str(caught.value) == told


def test_a_hosted_model_is_asked_for_one_token(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve({CHAT: (200, COMPLETION)})
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    ensure_available(parse_spec("openai/tiny-one"))
    assert server.seen == [(CHAT, "Bearer theirs")]
    server.answers[CHAT] = NO_KEY
    with pytest.raises(UnreachableModelError, match=r"^openai/tiny-two refuses the key in "):
        ensure_available(parse_spec("openai/tiny-two"))
    server.answers[CHAT] = NO_MODEL
    with pytest.raises(UnreachableModelError, match=r"^openai/tiny-two: the provider has no such model$"):
        ensure_available(parse_spec("openai/tiny-two"))


def test_what_a_server_says_fills_no_screen(serve: Serve) -> None:
    models = listed("n" * 100_000, "m")
    told = refusal(serve({MODELS: models, CHAT: NO_MODEL}).server_port)
    assert told == f"the model server at URL does not serve 'tiny'; it serves {'n' * 100}, m"
    assert servers.plain_words(ValueError("x" * 1_000_000)) == f"{'x' * 500} …"


def test_what_the_environment_says_of_hosted_models_concerns_no_other_server(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = serve({CHAT: (200, COMPLETION)})
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{hosted.server_port}/v1")
    server = serve({MODELS: listed("tiny"), CHAT: (200, COMPLETION)})
    check(server.server_port)
    assert [path for path, _ in server.seen] == [MODELS, CHAT]
    assert hosted.seen == []


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "groq"])
def test_the_answers_of_hosted_models_have_limits_too(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(transport: BoundedTransport, request: Any) -> None:
        raise UnusableAnswerError("was asked by the transport that has limits")

    monkeypatch.setattr(BoundedTransport, "stream", refuse)
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "mine")
    with pytest.raises(UnreachableModelError, match=rf"^{provider}/limited was asked by the transport"):
        ensure_available(parse_spec(f"{provider}/limited"))
