"""A loopback server for the requests of Qdrant's REST API that groundset sends.

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
        most_writes: how many batches of points are stored before the disk is full.
        bodies: the bodies of all requests.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _QdrantHandler)
        self.client = QdrantClient(":memory:")
        self.key: str | None = None
        self.answer: bytes | None = None
        self.most_writes: int | None = None
        self.bodies: list[str] = []

    def fill(self, name: str, vectors: Any, payloads: list[dict[str, Any]], *, using: str | None = None) -> None:
        params = models.VectorParams(size=len(vectors[0]), distance=models.Distance.COSINE)
        self.client.create_collection(name, vectors_config={using: params} if using else params)
        rows: Any = [list(map(float, row)) for row in vectors]
        self.client.upsert(
            name,
            models.Batch(ids=list(range(len(rows))), vectors={using: rows} if using else rows, payloads=payloads),
        )

    @property
    def store(self) -> str:
        return f"qdrant:http://127.0.0.1:{self.server_port}"

    def retriever(self, name: str) -> str:
        return f"{self.store}#{name}"


class _QdrantHandler(BaseHTTPRequestHandler):
    server: QdrantServer

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(self._body())

    def do_PUT(self) -> None:
        self._answer(self._body())

    def _body(self) -> str:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.bodies.append(body)
        return body

    def _answer(self, body: str | None) -> None:
        parts = self.path.partition("?")[0].split("/", 3)
        name, action = unquote(parts[2]) if len(parts) > 2 else "", parts[3] if len(parts) > 3 else ""
        creates = self.command == "PUT" and not action
        if self.server.key and self.headers.get("api-key") != self.server.key:
            self._send(401, b"Must provide an API key or an Authorization bearer token")
        elif name and not creates and not self.server.client.collection_exists(name):
            status = {"error": f"Not found: Collection `{name}` doesn't exist!"}
            self._send(404, json.dumps({"status": status, "time": 0.0}).encode())
        elif self.server.most_writes is not None and action == "points" and self.command == "PUT":
            self.server.most_writes -= 1
            if self.server.most_writes < 0:
                self._send(507, json.dumps({"status": {"error": "No space left on device"}}).encode())
            else:
                self._done(name, action, body)
        else:
            self._done(name, action, body)

    def _done(self, name: str, action: str, body: str | None) -> None:
        result = _result(self.server.client, self.command, name, action, body)
        self._send(200, json.dumps({"result": result, "status": "ok", "time": 0.0}).encode())

    def _send(self, status: int, body: bytes) -> None:
        body = body if self.server.answer is None else self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _result(client: QdrantClient, method: str, name: str, action: str, body: str | None) -> Any:
    if not name:
        return {"collections": []}
    if body is None:
        return client.get_collection(name).model_dump(mode="json")
    if not action:
        sizes = models.CreateCollection.model_validate_json(body)
        return client.create_collection(name, vectors_config=sizes.vectors)
    if action == "points/count":
        return {"count": client.count(name, exact=True).count}
    if action == "points" and method == "PUT":
        client.upsert(name, models.PointsBatch.model_validate_json(body).batch)
        return {"status": "completed"}
    if action == "points":
        wanted = models.PointRequest.model_validate_json(body)
        points = client.retrieve(name, wanted.ids, with_vectors=True, with_payload=True)
        return [point.model_dump(mode="json") for point in points]
    requests = models.QueryRequestBatch.model_validate_json(body).searches
    for request in requests:
        request.params = None  # the local mode is exact, and warns
    return [answer.model_dump(mode="json") for answer in client.query_batch_points(name, requests)]


@contextmanager
def serving_qdrant() -> Iterator[QdrantServer]:
    """Serve until the block ends."""
    server = QdrantServer()
    with served(server):
        yield server
    server.client.close()
