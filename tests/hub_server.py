"""A server on this machine that speaks the Hugging Face Hub's protocol for datasets and for files
of models, as its own client uses it.

Files are in git by their blob id, Parquet files and weights by LFS. It remembers what it was asked,
and fails when it is told to.
"""

import base64
import hashlib
import json
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from model_server import running

TOKEN = "hf_secret-of-the-tests"
_LARGE = (".parquet", ".safetensors", ".gguf")


@dataclass
class Repo:
    """A dataset or model: commits hold files by path, each a blob id, or an LFS hash."""

    private: bool
    commits: dict[str, dict[str, str]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    head: str = ""
    is_gated: bool = False

    def commit(self, files: dict[str, str], message: str) -> str:
        self.head = hashlib.sha1(
            json.dumps([len(self.messages), message, files]).encode()
        ).hexdigest()
        self.commits[self.head] = files
        self.messages.append(message)
        return self.head


class HubServer(ThreadingHTTPServer):
    """Serves datasets and models of the owner ``you``.

    Attributes:
        repos: by ``owner/name``.
        asked: method, path and range of every request, in order.
        failing: answers to come for requests whose method and path hold a text: a status, 0 to hang
            up, less to do so after as many seconds.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.failing: list[tuple[str, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def create(self, name: str, *, private: bool = False) -> Repo:
        self.repos[name] = repo = Repo(private)
        repo.commit({".gitattributes": self.keep(b"*.parquet filter=lfs\n")}, "initial commit")
        return repo

    def keep(self, content: bytes, *, large: bool = False) -> str:
        oid = hashlib.sha256(content).hexdigest() if large else _blob_id(content)
        self.blobs[oid] = content
        return oid

    def put(self, name: str, path: str, content: bytes) -> None:
        """Commit a file, as a person would on the site."""
        repo = self.repos[name]
        oid = self.keep(content, large=path.endswith(_LARGE))
        repo.commit({**repo.commits[repo.head], path: oid}, f"Change {path}")

    def files(self, name: str) -> dict[str, bytes]:
        repo = self.repos[name]
        return {path: self.blobs[oid] for path, oid in repo.commits[repo.head].items()}

    def count(self, text: str) -> int:
        return sum(text in each for each in self.asked)


def _blob_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _AnswerError(Exception):
    """Ends a request; a text is an error."""

    def __init__(self, status, body, code="", **headers):
        self.status, self.headers = status, headers
        self.body = {"error": body} if isinstance(body, str) else body
        if code:
            self.headers["X-Error-Code"] = code


class _Handler(BaseHTTPRequestHandler):
    server: HubServer

    def do_GET(self):
        parts = urlsplit(self.path)
        asked = f"{self.command} {self.path} {self.headers.get('Range', '')}".rstrip()
        self.server.asked.append(asked)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for place, (text, status) in enumerate(self.server.failing):
            if text in asked:
                del self.server.failing[place]
                return self._fail(status)
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        try:
            self._route(path, body)
        except _AnswerError as answer:
            self._send(answer)

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, format, *args):
        pass

    def _fail(self, status):
        if status > 0:
            return self._send(_AnswerError(status, f"told to fail with {status}; {TOKEN}"))
        time.sleep(-status)
        self.close_connection = True
        self.connection.shutdown(2)

    def _send(self, answer):
        raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header(
            "Content-Type", "application/octet-stream" if answer.body is raw else "application/json"
        )
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _route(self, path, body):
        if path[0] == "lfs":
            self._store(path[1], body)
        if path[:2] == ["api", "validate-yaml"]:
            self._check_card()
        if path[:3] == ["api", "repos", "create"]:
            self._create(json.loads(body))
        if path[:2] == ["api", "datasets"]:
            self._api("/".join(path[2:4]), path[4:], body)
        if path[0] == "datasets" and path[3:] == ["info", "lfs", "objects", "batch"]:
            self._batch(json.loads(body))
        if "resolve" in path:
            owner, name, _, revision, *file = path[path[0] == "datasets" :]
            self._resolve(f"{owner}/{name}", revision, "/".join(file))
        raise _AnswerError(404, "no such page")

    def _needs_token(self):
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise _AnswerError(401, "Invalid credentials in Authorization header")

    def _repo(self, name):
        repo = self.server.repos.get(name)
        if repo is None or (
            repo.private and self.headers.get("Authorization") != f"Bearer {TOKEN}"
        ):
            raise _AnswerError(404, "Repository not found", "RepoNotFound")
        if repo.is_gated:
            raise _AnswerError(403, "Accept the terms", "GatedRepo")
        return repo

    def _files(self, repo, revision):
        sha = repo.head if revision == "main" else revision
        if sha not in repo.commits:
            raise _AnswerError(404, "Invalid rev id", "RevisionNotFound")
        return sha, repo.commits[sha]

    def _create(self, asked):
        self._needs_token()
        name = f"{asked['organization']}/{asked['name']}"
        known = name in self.server.repos
        if not known:
            self.server.create(name, private=asked.get("visibility") == "private")
        raise _AnswerError(409 if known else 200, {"url": f"{self.server.url}/datasets/{name}"})

    def _check_card(self):
        raise _AnswerError(200, {"errors": [], "warnings": []})

    def _api(self, name, path, body):
        repo = self._repo(name)
        what, revision = path[0] if path else "revision", path[1] if len(path) > 1 else "main"
        sha, files = self._files(repo, revision)
        if what == "revision":
            about = {"id": name, "sha": sha, "private": repo.private, "siblings": [], "tags": []}
            raise _AnswerError(200, about)
        if what == "tree":
            raise _AnswerError(200, [self._entry(each, files[each]) for each in files])
        self._needs_token()
        if what == "preupload":
            raise _AnswerError(
                200,
                {"files": [self._mode(each["path"], files) for each in json.loads(body)["files"]]},
            )
        if what == "commit":
            made = self._commit(
                repo, sha, dict(files), [json.loads(line) for line in body.splitlines()]
            )
            url = f"{self.server.url}/datasets/{name}/commit/{made}"
            raise _AnswerError(200, {"success": True, "commitOid": made, "commitUrl": url})

    def _entry(self, path, oid):
        return {"type": "file", "path": path, "size": len(self.server.blobs[oid]), "oid": oid}

    def _mode(self, path, files):
        mode = "lfs" if path.endswith(_LARGE) else "regular"
        return {"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": files.get(path)}

    def _commit(self, repo, sha, files, lines):
        header = lines[0]["value"]
        if header.get("parentCommit") not in (None, sha):
            raise _AnswerError(412, "A commit has happened since. Please refresh and try again.")
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "deletedFile":
                del files[value["path"]]
            elif line["key"] == "file":
                files[value["path"]] = self.server.keep(base64.b64decode(value["content"]))
            elif line["key"] == "lfsFile":
                assert value["oid"] in self.server.blobs
                files[value["path"]] = value["oid"]
        return repo.commit(files, header["summary"])

    def _batch(self, asked):
        self._needs_token()
        objects = []
        for each in asked["objects"]:
            actions = {"upload": {"href": f"{self.server.url}/lfs/{each['oid']}"}}
            known = each["oid"] in self.server.blobs
            objects.append(
                {
                    "oid": each["oid"],
                    "size": each["size"],
                    **({} if known else {"actions": actions}),
                }
            )
        raise _AnswerError(200, {"transfer": "basic", "objects": objects})

    def _store(self, oid, body):
        assert self.server.keep(body, large=True) == oid, "other bytes than were announced"
        raise _AnswerError(200, {})

    def _resolve(self, name, revision, path):
        sha, files = self._files(self._repo(name), revision)
        if path not in files:
            raise _AnswerError(404, "Entry not found", "EntryNotFound")
        headers = {"ETag": f'"{files[path]}"', "X-Repo-Commit": sha}
        wanted = self.headers.get("Range", "")
        start = int(wanted[6:-1]) if wanted.endswith("-") else 0
        content = self.server.blobs[files[path]][start:]
        raise _AnswerError(206 if start else 200, content, **headers)


def serving() -> AbstractContextManager[HubServer]:
    return running(HubServer())
