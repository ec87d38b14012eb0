"""A server on this machine that hands out files as S3, a dataset of the Hugging Face Hub and a web server do."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from loopback import served

_MODIFIED = "2026-03-01T12:00:00.000Z"
_HTTP_DATE = "Sun, 01 Mar 2026 12:00:00 GMT"
_HUB = "/api/datasets/owner/name"


class StorageServer(ThreadingHTTPServer):
    """Hands out files.

    Attributes:
        files: by path; the first part is the S3 bucket. All of them are also the dataset `owner/name`.
        status: what every request is answered with, if it is not 0.
        asked: method and path of every request, in order.
        cuts: after how many bytes the next files break off.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.status = 0
        self.asked: list[str] = []
        self.cuts: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StorageServer

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _serve(self) -> None:
        parts, files = urlsplit(self.path), self.server.files
        path, query = unquote(parts.path), {name: each[0] for name, each in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append(f"{self.command} {path}")
        resolved = path.removeprefix("/datasets/owner/name/resolve/main/").lstrip("/")
        if self.server.status:
            self._answer(self.server.status, b"")
        elif path.startswith(_HUB):
            self._hub(path.removeprefix(_HUB), body, recursive=query.get("recursive", "").lower() == "true")
        elif "list-type" in query:
            self._list_bucket(path.strip("/"), query.get("prefix", ""), query.get("delimiter", ""))
        elif resolved in files:
            self._answer(200, files[resolved], is_file=True)
        else:
            self._answer(404, b"")

    def _list_bucket(self, bucket: str, prefix: str, delimiter: str) -> None:
        keys = [path.removeprefix(f"{bucket}/") for path in sorted(self.server.files) if path.startswith(f"{bucket}/")]
        if not keys:
            self._answer(404, b"<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>")
            return
        contents, folders = [], []
        for key in keys:
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if delimiter and delimiter in rest:
                folders.append(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            content = self.server.files[f"{bucket}/{key}"]
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{_MODIFIED}</LastModified>"
                f'<ETag>"{_tag(content)}"</ETag><Size>{len(content)}</Size></Contents>'
            )
        common = [
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in dict.fromkeys(folders)
        ]
        listing = "".join([*contents, *common])
        listed = f"<ListBucketResult><IsTruncated>false</IsTruncated>{listing}</ListBucketResult>"
        self._answer(200, listed.encode())

    def _hub(self, path: str, body: bytes, *, recursive: bool) -> None:
        files = self.server.files
        if path.startswith("/tree/main"):
            folder = path.removeprefix("/tree/main").strip("/")
            below = [each for each in [*files, *self._folders()] if each.startswith(f"{folder}/" if folder else "")]
            answer = [self._entry(each) for each in below if recursive or "/" not in each[len(folder) :].strip("/")]
        elif path.startswith("/paths-info/"):
            asked = parse_qs(body.decode())["paths"]
            answer = [self._entry(each) for each in asked if each in files or each in self._folders()]
        else:
            answer = {"id": "owner/name", "sha": "0" * 40, "private": False, "siblings": []}
        self._answer(200, json.dumps(answer).encode())

    def _folders(self) -> set[str]:
        return {str(parent) for file in self.server.files for parent in PurePosixPath(file).parents} - {"."}

    def _entry(self, path: str) -> dict[str, object]:
        if path not in self.server.files:
            return {"type": "directory", "path": path, "oid": "0" * 40}
        content = self.server.files[path]
        return {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}

    def _answer(self, status: int, body: bytes, *, is_file: bool = False) -> None:
        start, total = 0, len(body)
        if is_file and (wanted := self.headers.get("Range")):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, body, status = int(first), body[int(first) : int(last or total) + 1], 206
        self.send_response(status)
        if is_file:
            self.send_header("ETag", f'"{_tag(self.server.files[self._file()])}"')
            self.send_header("Last-Modified", _HTTP_DATE)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{total}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            cut = self.server.cuts.pop(0) if is_file and self.server.cuts else len(body)
            self.wfile.write(body[:cut])

    def _file(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix("/datasets/owner/name/resolve/main/").lstrip("/")


def _tag(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@contextmanager
def serving() -> Iterator[StorageServer]:
    """Serve no files until the block ends."""
    server = StorageServer()
    with served(server):
        yield server
