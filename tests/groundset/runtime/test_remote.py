"""A model on an OpenAI-compatible server, over real HTTP on loopback."""

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy
import pytest
from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import LMError

from groundset.engine.engine import fatal_error
from groundset.models import pool, servers
from groundset.runtime.journal import MemoryJournal
from groundset.runtime.lms import open_lm
from programs.critics.logprobs import LogprobCritic
from programs.deciding import decide
from programs.errors import ModelError
from signatures.judge import JudgeQuestion
from signatures.question import AskQuestion

Answer = tuple[int, dict[str, str], dict[str, Any]]


class Server(ThreadingHTTPServer):
    seen: list[tuple[str | None, dict[str, Any]]]
    answers: list[Answer]  # the next ones, instead of regular answers
    logprobs: bool


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.headers.get("Authorization"), body))
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "When was the bridge opened?"},
        }
        if self.server.logprobs and body.get("logprobs"):
            top = [{"token": " Yes", "logprob": -0.1, "bytes": None}, {"token": "no", "logprob": -3.0, "bytes": None}]
            choice["logprobs"] = {"content": [{"token": " Yes", "logprob": -0.1, "bytes": None, "top_logprobs": top}]}
        status, headers, changes = self.server.answers.pop(0) if self.server.answers else (200, {}, {})
        self._send(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [choice],
                "usage": {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18},
                **changes,
            },
            status,
            headers,
        )

    def _send(self, body: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        answer = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    servers.check_served.cache_clear()  # another server may have had the same port
    server = Server(("127.0.0.1", 0), Handler)
    server.seen, server.answers, server.logprobs = [], [], True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def spec(server: Server) -> str:
    return f"openai/tiny@http://127.0.0.1:{server.server_port}/v1"


def test_step_on_a_server_is_journaled(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-another-server")
    with open_lm(spec(server)) as model, dspy.context(lm=model.lm, adapter=model.adapter):
        step = dspy.Predict(AskQuestion, max_tokens=20, stop=["\n"], temperature=0.0)
        inputs = {"topic": "Bridge", "fact": "It was opened in 1931.", "answer": "1931", "opening": ""}
        assert step(**inputs).question == step(**inputs).question == "When was the bridge opened?"
        assert model.usage()["calls"] == 1
        assert model.usage()["replayed"] == 1
    _checked, (key, body) = server.seen
    assert body["model"] == "tiny"
    assert "secret" not in str(key)


def test_calls_are_replayed_at_another_address(serving: Any) -> None:
    journal = MemoryJournal()
    for calls, replayed in ((1, 0), (0, 1)):
        with serving() as server, open_lm(server.spec, journal=journal) as model:
            request = Request(model=model.lm.model, messages=(Message.user("Who?"),), config=Config(max_tokens=5))
            model.lm(request)
            assert (model.usage()["calls"], model.usage()["replayed"]) == (calls, replayed)
            assert model.name == "openai/tiny@server"


def test_lm_critic_uses_log_probabilities_of_a_server(server: Server) -> None:
    with open_lm(spec(server)) as model:
        decision = decide(dspy.Predict(JudgeQuestion), LogprobCritic(model.lm), passage="P.", question="Q?")
        assert decision.probability == pytest.approx(0.9478, abs=1e-3)
        server.logprobs = False
        with pytest.raises(ModelError, match="log-probabilities"):
            decide(dspy.Predict(JudgeQuestion), LogprobCritic(model.lm), passage="Other.", question="Q?")


def test_requested_pause_is_made_and_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[str] = []
    monkeypatch.setattr(pool, "_MIN_REPORTED_PAUSE", 1.5)
    with open_lm(spec(server), notify=notices.append) as model:
        server.answers = [(429, {"Retry-After": "2"}, {"error": {"message": "slow down"}}), (503, {}, {})]
        request = Request(model=model.lm.model, messages=(Message.user("Who?"),), config=Config(max_tokens=5))
        began = time.monotonic()
        assert model.lm(request).message.text == "When was the bridge opened?"
        assert 4.0 <= time.monotonic() - began < 8.0, "2 seconds as requested, then 2 after the second failure"
    place = f"the model server at http://127.0.0.1:{server.server_port}/v1"
    assert notices == [
        f"Waiting 2 seconds: {place} limits the rate of requests (429); try again in 2 seconds.",
        f"Waiting 2 seconds: {place} is busy or still loading the model (503); try again later.",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((429, {"Retry-After": "100000"}, {}), r"\(429\); try again in 100000 seconds$"),
        ((200, {}, {"usage": {"prompt_tokens": 10**30}}), r" reports an impossible token count$"),
        ((200, {}, {"choices": [{}, {}]}), r" sent several choices instead of one$"),
        ((200, {}, {"padding": "x" * 2**23}), r" answered with more than 8 MiB$"),
        *(
            (
                (200, {}, {"choices": [{"logprobs": {"content": [{"token": "yes", "logprob": value}]}}]}),
                r" reports an impossible log-probability",
            )
            for value in (1000.0, "nan", "inf")
        ),
    ],
)
def test_invalid_answer_is_not_journaled(
    server: Server, monkeypatch: pytest.MonkeyPatch, answer: Answer, reason: str
) -> None:
    journal = MemoryJournal()
    monkeypatch.setattr(pool.ServerPool, "_report_pause", lambda *arguments: pytest.fail("waited"))
    with open_lm(spec(server), journal=journal) as model:
        request = Request(model=model.lm.model, messages=(Message.user("Who?"),), config=Config(max_tokens=5))
        server.answers = [answer]
        with pytest.raises(LMError) as caught:
            model.lm(request)
        failed = fatal_error(caught.value)
        assert failed is not None
        assert failed.exit_code == 1
        assert re.search(f"^the model server at http://127.0.0.1:{server.server_port}/v1.*{reason}", str(failed))
    with open_lm(spec(server), journal=journal) as model:
        assert model.lm(request).message.text == "When was the bridge opened?"


def test_missing_answer_times_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()
    with open_lm(spec(server), timeout=0.3) as model:
        monkeypatch.setattr(Handler, "_send", lambda *_: done.wait(10))
        request = Request(model=model.lm.model, messages=(Message.user("Who?"),), config=Config(max_tokens=5))
        with pytest.raises(LMError, match=r"did not answer within 0\.3 seconds"):
            model.lm(request)
        done.set()
