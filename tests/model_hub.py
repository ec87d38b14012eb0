"""A server on this machine that hands out models as the Hugging Face Hub does, to its own client.

A file is asked for at its repository and comes from another host, to which no token may go.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from loopback import served

TOKEN = "hf_secret-of-the-tests"


@dataclass
class Repo:
    """A repository: files of each commit by path, and the commit of each branch."""

    gated: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)


class ModelHub(ThreadingHTTPServer):
    """Hands out models.

    Attributes:
        repos: by ``owner/name``.
        plain: whether files are kept in git itself, and so named by another hash than their SHA-256.
        asked: method and path of every request, in order, with the range that it wants.
        tokens: what came as a token, for each host that was asked.
        cuts: after how many bytes the next answers break off.
        status: what every request is answered with, if it is not 0.
        sizes, hashes: what is said of a file's size and SHA-256, where that is not true.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.plain = False
        self.asked: list[str] = []
        self.tokens: dict[str, set[str | None]] = {}
        self.cuts: list[int] = []
        self.status = 0
        self.sizes: dict[str, int] = {}
        self.hashes: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, name: str, files: dict[str, bytes], branch: str = "main", *, gated: bool = False) -> str:
        """Commit files to a branch, beside those that are there, and return the commit."""
        repo = self.repos.setdefault(name, Repo(gated))
        there = {**repo.commits.get(repo.branches.get(branch, ""), {}), **files}
        commit = hashlib.sha1(repr([len(repo.commits), sorted(there)]).encode()).hexdigest()
        repo.commits[commit], repo.branches[branch] = there, commit
        return commit

    def count(self, text: str) -> int:
        return sum(text in each for each in self.asked)


class _Handler(BaseHTTPRequestHandler):
    server: ModelHub

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _serve(self) -> None:
        hub, path = self.server, unquote(urlsplit(self.path).path)
        wanted = self.headers.get("Range")
        hub.asked.append(f"{self.command} {path}{f' {wanted}' if wanted else ''}")
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        hub.tokens.setdefault(self.headers["Host"].partition(":")[0], set()).add(token)
        if hub.status:
            self._answer(hub.status)
        elif path.startswith("/blobs/"):
            self._hand_out(path.removeprefix("/blobs/"), wanted)
        else:
            self._find(path, token)

    def _find(self, path: str, token: str | None) -> None:
        is_listing = path.startswith("/api/models/")
        owner, name, _, rest = path.removeprefix("/api/models" if is_listing else "").lstrip("/").split("/", 3)
        repo = self.server.repos.get(f"{owner}/{name}")
        if token not in (None, TOKEN):
            self._answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
        elif repo is None:
            self._answer(404 if token else 401, {"X-Error-Code": "RepoNotFound"})
        elif (found := self._commit(repo, rest)) is None:
            self._answer(404, {"X-Error-Code": "RevisionNotFound"})
        elif is_listing:
            tree = [
                {"type": "file", "path": each, "size": self._size(each, content), "oid": "0" * 40}
                for each, content in repo.commits[found[0]].items()
            ]
            self._answer(200, {"Content-Type": "application/json"}, json.dumps(tree).encode())
        elif repo.gated and not token:
            self._answer(401, {"X-Error-Code": "GatedRepo"})
        elif found[1] not in repo.commits[found[0]]:
            self._answer(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": found[0]})
        else:
            self._send_on(f"{owner}/{name}/{found[0]}/{found[1]}", *found, repo.commits[found[0]][found[1]])

    def _commit(self, repo: Repo, rest: str) -> tuple[str, str] | None:
        """Return the commit and the path that the end of an address names; a branch may hold slashes."""
        for name, commit in [*repo.branches.items(), *((each, each) for each in repo.commits)]:
            if rest == name or rest.startswith(f"{name}/"):
                return commit, rest[len(name) + 1 :]
        return None

    def _send_on(self, blob: str, commit: str, path: str, content: bytes) -> None:
        headers = {"X-Repo-Commit": commit, "X-Linked-Size": str(self._size(path, content))}
        kind = hashlib.sha1 if self.server.plain else hashlib.sha256
        headers["X-Linked-Etag"] = f'"{self.server.hashes.get(path) or kind(content).hexdigest()}"'
        # Another name of this machine is another host.
        headers["Location"] = f"http://localhost:{self.server.server_port}/blobs/{blob}"
        self._answer(302, headers)

    def _size(self, path: str, content: bytes) -> int:
        return self.server.sizes.get(path, len(content))

    def _hand_out(self, blob: str, wanted: str | None) -> None:
        owner, name, commit, path = blob.split("/", 3)
        content = self.server.repos[f"{owner}/{name}"].commits[commit][path]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self._answer(206 if wanted else 200, {}, content[start:])

    def _answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            cut = self.server.cuts.pop(0) if self.server.cuts and self.path.startswith("/blobs/") else len(body)
            self.wfile.write(body[:cut])


@contextmanager
def serving() -> Iterator[ModelHub]:
    """Serve an empty Hub until the block ends."""
    hub = ModelHub()
    with served(hub):
        yield hub
