"""A model server on loopback that answers as an attack tells it to, and honestly else."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

MODEL = "tiny"
Say = Callable[[socket.socket], None]


class Honest:
    """Answers; ``choice`` and ``usage`` take the place of what it says in a completion."""

    def __init__(self, choice: Mapping[str, Any] | None = None, usage: object = None) -> None:
        """Say the same in every completion."""
        top = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -3.0}]
        self._choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "When does the ferry leave Brannock pier?"},
            "logprobs": {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": top}]},
            **(choice or {}),
        }
        self._usage = usage or {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18}

    def __call__(self, caller: socket.socket) -> None:
        """Send a completion."""
        told = {"id": "1", "object": "chat.completion", "model": MODEL, "choices": [self._choice], "usage": self._usage}
        caller.sendall(whole(json.dumps(told).encode()))


def whole(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Return an answer with its length."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class HostileServer:
    """What serves; ``spec`` names its model, ``asked`` holds the first line of every request."""

    def __init__(self, say: Say, *, check: Say, models: Say) -> None:
        """Answer completions by ``say``, the one by which a model is checked by ``check``, listings by ``models``."""
        self._say, self._check, self._models = say, check, models
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.spec = f"openai/{MODEL}@{self.url}/v1"
        self.asked: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more requests."""
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                threading.Thread(target=self._talk, args=(caller,), daemon=True).start()

    def _talk(self, caller: socket.socket) -> None:
        with caller, suppress(OSError, ValueError), caller.makefile("rb") as stream:
            while line := stream.readline().decode().strip():
                self.asked.append(line)
                head = b"".join(iter(stream.readline, b"\r\n")).decode()
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = json.loads(stream.read(int(length[1]))) if length else {}
                if line.startswith("GET"):
                    self._models(caller)
                elif (body.get("max_tokens") or body.get("max_completion_tokens")) == 1 and not body.get("logprobs"):
                    self._check(caller)
                else:
                    self._say(caller)


def listed(caller: socket.socket) -> None:
    """Send the list of models."""
    caller.sendall(whole(json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode()))


@contextmanager
def serving(say: Say | None = None, *, check: Say | None = None, models: Say | None = None) -> Iterator[HostileServer]:
    """Serve until the block ends; what nobody is named for is answered honestly."""
    honest = Honest()
    server = HostileServer(say or honest, check=check or honest, models=models or listed)
    try:
        yield server
    finally:
        server.close()
