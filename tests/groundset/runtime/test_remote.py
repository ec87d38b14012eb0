"""A model on an OpenAI-compatible server, over real HTTP on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy
import pytest
from dspy.lm15 import Config, Message, Request

from groundset.models import servers
from groundset.runtime.journal import MemoryJournal
from groundset.runtime.lms import open_lm
from programs.critics.logprobs import LogprobCritic
from programs.deciding import decide
from programs.errors import ModelError, UnknownModelError
from signatures import AskQuestion, JudgeQuestion


class Server(ThreadingHTTPServer):
    seen: list[tuple[str | None, dict[str, Any]]]
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
        self._send(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [choice],
                "usage": {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18},
            }
        )

    def _send(self, body: dict[str, Any]) -> None:
        answer = json.dumps(body).encode()
        self.send_response(200)
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
    server.seen, server.logprobs = [], True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def spec(server: Server) -> str:
    return f"openai/tiny@http://127.0.0.1:{server.server_port}/v1"


def test_a_step_runs_on_a_server_and_is_journaled(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_calls_that_were_finished_at_one_address_are_free_at_another(serving: Any) -> None:
    journal = MemoryJournal()
    for calls, replayed in ((1, 0), (0, 1)):
        with serving() as server, open_lm(server.spec, journal=journal) as model:
            request = Request(model=model.lm.model, messages=(Message.user("Who?"),), config=Config(max_tokens=5))
            model.lm(request)
            assert (model.usage()["calls"], model.usage()["replayed"]) == (calls, replayed)
            assert model.name == "openai/tiny@server"


def test_the_lm_critic_reads_a_servers_log_probabilities(server: Server) -> None:
    with open_lm(spec(server)) as model:
        decision = decide(dspy.Predict(JudgeQuestion), LogprobCritic(model.lm), passage="P.", question="Q?")
        assert decision.probability == pytest.approx(0.9478, abs=1e-3)
        server.logprobs = False
        with pytest.raises(ModelError, match="log-probabilities"):
            decide(dspy.Predict(JudgeQuestion), LogprobCritic(model.lm), passage="Other.", question="Q?")


def test_an_unknown_name_is_refused_with_near_matches() -> None:
    with pytest.raises(UnknownModelError, match=r"qwen2\.5-coder-0\.5b"):
        open_lm("qwen2.5-coder-0.6b")
