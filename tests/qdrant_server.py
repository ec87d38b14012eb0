"""A loopback server for the two requests of Qdrant's REST API that groundset sends.

Qdrant's client parses the requests and searches in its local mode; only HTTP is imitated.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from loopback import served
from qdrant_client import QdrantClient, models


class QdrantServer(ThreadingHTTPServer):
    """Serves the collections of a client in memory.

    Attributes:
        client: creates and fills collections.
        key: the API key that requests need, if any.
        answer: replaces the body of all answers.
        bodies: the bodies of all requests.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _QdrantHandler)
        self.client = QdrantClient(":memory:")
        self.key: str | None = None
        self.answer: bytes | None = None
        self.bodies: list[str] = []

    def fill(self, name: str, vectors: Any, payloads: list[dict[str, Any]], *, using: str | None = None) -> None:
        params = models.VectorParams(size=len(vectors[0]), distance=models.Distance.COSINE)
        self.client.create_collection(name, vectors_config={using: params} if using else params)
        rows: Any = [list(map(float, row)) for row in vectors]
        self.client.upsert(
            name,
            models.Batch(ids=list(range(len(rows))), vectors={using: rows} if using else rows, payloads=payloads),
        )

    def retriever(self, name: str) -> str:
        return f"qdrant:http://127.0.0.1:{self.server_port}#{name}"


class _QdrantHandler(BaseHTTPRequestHandler):
    server: QdrantServer

    def do_GET(self) -> None:
        self._answer(lambda name: self.server.client.get_collection(name).model_dump(mode="json"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.bodies.append(body)

        def search(name: str) -> Any:
            requests = models.QueryRequestBatch.model_validate_json(body).searches
            found = self.server.client.query_batch_points(name, requests)
            return [answer.model_dump(mode="json") for answer in found]

        self._answer(search)

    def _answer(self, work: Any) -> None:
        name = unquote(self.path.split("/")[2])
        if self.server.key and self.headers.get("api-key") != self.server.key:
            self._send(401, b"Must provide an API key or an Authorization bearer token")
        elif not self.server.client.collection_exists(name):
            status = {"error": f"Not found: Collection `{name}` doesn't exist!"}
            self._send(404, json.dumps({"status": status, "time": 0.0}).encode())
        else:
            self._send(200, json.dumps({"result": work(name), "status": "ok", "time": 0.0}).encode())

    def _send(self, status: int, body: bytes) -> None:
        body = body if self.server.answer is None else self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving_qdrant() -> Iterator[QdrantServer]:
    """Serve until the block ends."""
    server = QdrantServer()
    with served(server):
        yield server
    server.client.close()
