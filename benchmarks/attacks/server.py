"""A model server on loopback with handlers for attacks; requests without a handler get normal answers."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

MODEL = "tiny"
Handler = Callable[[socket.socket], None]


class Completion:
    """A handler that sends a valid completion, except for the fields in ``choice`` and ``usage``."""

    def __init__(self, choice: Mapping[str, Any] | None = None, usage: object = None) -> None:
        """Prepare the completion."""
        top = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -3.0}]
        self._choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "When does the ferry leave Brannock pier?"},
            "logprobs": {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": top}]},
            **(choice or {}),
        }
        self._usage = usage or {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18}

    def __call__(self, client: socket.socket) -> None:
        """Send the completion."""
        body = {"id": "1", "object": "chat.completion", "model": MODEL, "choices": [self._choice], "usage": self._usage}
        client.sendall(response(json.dumps(body).encode()))


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Return an HTTP response with its length."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class HostileServer:
    """The server; ``spec`` is the specification of its model."""

    def __init__(self, complete: Handler, *, check: Handler, models: Handler) -> None:
        """Set the handlers for completions, for the check of the model and for its list of models."""
        self._complete, self._check, self._models = complete, check, models
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.spec = f"openai/{MODEL}@{self.url}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop accepting requests."""
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, suppress(OSError, ValueError), client.makefile("rb") as stream:
            while line := stream.readline().decode().strip():
                head = b"".join(iter(stream.readline, b"\r\n")).decode()
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = json.loads(stream.read(int(length[1]))) if length else {}
                if line.startswith("GET"):
                    self._models(client)
                elif (body.get("max_tokens") or body.get("max_completion_tokens")) == 1 and not body.get("logprobs"):
                    self._check(client)
                else:
                    self._complete(client)


def list_models(client: socket.socket) -> None:
    """Send the list of models."""
    client.sendall(response(json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode()))


@contextmanager
def serving(
    complete: Handler | None = None, *, check: Handler | None = None, models: Handler | None = None
) -> Iterator[HostileServer]:
    """Run a server in the block; requests without a handler get normal answers."""
    default = Completion()
    server = HostileServer(complete or default, check=check or default, models=models or list_models)
    try:
        yield server
    finally:
        server.close()
