"""A server that speaks the protocol of OpenAI: it answers as a test says, and remembers what it was
asked.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

MODEL = "tiny"
Server = TypeVar("Server", bound=ThreadingHTTPServer)
Answer = str | dict[str, Any] | tuple[int, Any]


def wrote(text: str | None, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a completion as servers send it; ``message`` are further fields of the message."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 12, "completion_tokens": 16, "total_tokens": 28}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


class ModelServer(ThreadingHTTPServer):
    """Serves ``tiny``.

    Attributes:
        answer: what a request is answered with: a text, a whole body, or a status and a body.
        bodies: the requests, but for those by which it is checked.
        keys: the keys that came.
        fault: is called with the handler instead of sending an answer, if it is not None.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Answer], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.fault: Callable[[Any], None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def spec(self) -> str:
        return f"openai/{MODEL}@{self.url}"


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self):
        self._send(200, {"object": "list", "data": [{"id": MODEL}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers.get("Authorization"))
        if not (len(body["messages"]) == 1 and body["messages"][0]["content"] == "Hi"):
            self.server.bodies.append(body)
            if self.server.fault is not None:
                self.server.fault(self)
                return
        answer = self.server.answer(body)
        status, content = answer if isinstance(answer, tuple) else (200, answer)
        self._send(status, wrote(content) if isinstance(content, str) else content)

    def _send(self, status, body):
        answer = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format, *args):
        pass


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def serving(
    answer: Callable[[dict[str, Any]], Answer] | Answer = "Hello", port: int = 0
) -> AbstractContextManager[ModelServer]:
    return running(ModelServer(answer if callable(answer) else lambda _: answer, port))
