"""Files of the Hub come through its own client, from a server on this machine."""

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from model_server import running
from refusal import refuses

from groundset.models.fetch import parse_name, pull
from groundset.programs.errors import ChecksumError, UnknownModelError, UnreachableModelError

NAME = "hf/owner/repo/quants/tiny.gguf"
WEIGHTS = b"GGUF" + bytes(1_000)
COMMIT = "a" * 40


class Hub(ThreadingHTTPServer):
    """Serves one file of ``owner/repo``; ``sha256`` is what it says of it, ``error`` its code for
    every request.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.sha256, self.error = WEIGHTS, hashlib.sha256(WEIGHTS).hexdigest(), ""
        self.asked = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self):
        hub = self.server
        hub.asked.append(self.path)
        is_there = not hub.error and self.path.endswith("/quants/tiny.gguf")
        self.send_response(
            200 if is_there else 401 if hub.error in ("GatedRepo", "RepoNotFound") else 404
        )
        headers = {
            "ETag": f'"{hub.sha256}"',
            "X-Repo-Commit": COMMIT,
            "Content-Length": str(len(hub.content)),
        }
        if not is_there:
            headers = {"X-Error-Code": hub.error or "EntryNotFound", "Content-Length": "0"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET" and is_there:
            self.wfile.write(hub.content)

    do_HEAD = do_GET  # noqa: N815 - the handler's name

    def log_message(self, format, *args):
        pass


@pytest.fixture
def hub(home, monkeypatch) -> Iterator[Hub]:
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    with running(server):
        yield server


def test_a_file_is_downloaded_once(hub, home):
    said = []
    path = pull(NAME, notify=said.append)
    assert path == home / "models/hf/owner/repo/quants/tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert said[-1] == f"{NAME} is verified and ready (SHA-256 {hub.sha256})"
    hub.asked.clear()
    assert pull(NAME) == path
    assert hub.asked == []
    assert pull(f"{NAME}@v2").parent.parent.name == "repo@v2"
    assert "/resolve/v2/" in hub.asked[0]


def test_what_is_not_the_file_is_refused(hub):
    hub.content = WEIGHTS[:-1] + b"x"
    with refuses(f"instead of {hub.sha256}; it was deleted", ChecksumError):
        pull(NAME)
    hub.content, hub.sha256 = b"<html>", hashlib.sha256(b"<html>").hexdigest()
    with refuses("is not a GGUF file", UnknownModelError):
        pull(NAME)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("RepoNotFound", "no such repository, or it is private and needs HF_TOKEN"),
        ("RevisionNotFound", "no revision main"),
        ("EntryNotFound", "has the repository but no such file"),
        ("GatedRepo", "is gated: accept its terms"),
    ],
)
def test_a_refusal_says_what_to_do(hub, error, message):
    hub.error = error
    with refuses(message, (UnknownModelError, UnreachableModelError)):
        pull(NAME)


def test_the_hub_stays_off_where_the_user_says_so(hub, monkeypatch):
    from huggingface_hub import constants

    from groundset import privacy

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(privacy, "took_the_hub_offline", lambda: False)
    with refuses("HF_HUB_OFFLINE disables the Hub", UnreachableModelError):
        pull(NAME)
    monkeypatch.setattr(privacy, "took_the_hub_offline", lambda: True)  # groundset's own default
    assert pull(NAME).is_file()
    assert constants.HF_HUB_OFFLINE


@pytest.mark.parametrize(
    "name",
    [
        "hf/owner/tiny.gguf",
        "hf/owner/repo/../x.gguf",
        "hf/owner/repo//x.gguf",
        "hf/owner/repo/x.bin",
        "hf/owner/repo/x.gguf@../y",
        "hf/owner/repo/x-00001-of-00002.gguf",
        "hf/o w/repo/x.gguf",
    ],
)
def test_names_that_are_none(name):
    with refuses(
        r"not a file of the Hugging Face Hub|one part of a split model", UnknownModelError
    ):
        parse_name(name)
