"""A server that speaks OpenAI's protocol, on this machine: it answers everything, and remembers what it was asked."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from loopback import served

MODEL = "tiny"


class ModelServer(ThreadingHTTPServer):
    """Serves ``tiny``.

    Attributes:
        texts: what was asked, but for the one word by which it is checked.
        keys: the keys that came.
        status: what calls are answered with, from now on.
        answer: writes a completion for a system text and the last turn of a user, if it is not None.
        fault: is called with the handler and the bytes of the answer instead of sending it, if it is not None.
        ids: the ids of the calls that came.
        models: the models that are listed.
    """

    def __init__(self, answer: Callable[[str, str], str] | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.texts: list[str] = []
        self.keys: set[str | None] = set()
        self.status = 200
        self.answer = answer
        self.fault: Callable[[Any, bytes], None] | None = None
        self.ids: list[str | None] = []
        self.models = [MODEL]

    @property
    def spec(self) -> str:
        return f"openai/{MODEL}@http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": name} for name in self.server.models]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(body["messages"])
        is_call = (body.get("max_tokens") != 1 and body.get("max_completion_tokens") != 1) or body.get("logprobs")
        if is_call:
            self.server.texts.append(text)
            self.server.ids.append(self.headers.get("X-Request-Id"))
        said = hashlib.sha256(text.encode()).hexdigest()
        content = f"What is {said}?"
        if self.server.answer and len(body["messages"]) > 1:
            content = self.server.answer(body["messages"][0]["content"], body["messages"][-1]["content"])
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": content},
        }
        if body.get("logprobs"):
            top = [{"token": " yes", "logprob": -0.1, "bytes": None}, {"token": "no", "logprob": -3.0, "bytes": None}]
            choice["logprobs"] = {"content": [{"token": " yes", "logprob": -0.1, "bytes": None, "top_logprobs": top}]}
        usage = {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
        if is_call and self.server.fault is not None:
            self.server.fault(self, json.dumps({**answer, "usage": usage}).encode())
        else:
            self._send(self.server.status, {**answer, "usage": usage})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self.server.keys.add(self.headers.get("Authorization"))
        answer = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(answer: Callable[[str, str], str] | None = None, port: int = 0) -> Iterator[ModelServer]:
    """Serve until the block ends."""
    server = ModelServer(answer, port)
    with served(server):
        yield server
