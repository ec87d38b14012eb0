"""A Qdrant server: a collection for the vectors of a run, searched exactly.

The name of the collection is a digest of its vectors and chunk ids, so that runs never mix, and runs on the same chunks
share a collection. It is filled in order, so that the next process continues an interrupted upload. The server receives
vectors and chunk ids, no texts. Each request asks for exact search: approximate results would depend on when the server
has built its index.
"""

import hashlib
from typing import Any

import numpy as np

from groundset.retrieval.stores.base import Indexes, StoreContents, Vectors
from groundset.retrieval.stores.qdrant_api import QdrantApi, parse_url, remote_host, without_credentials
from programs.errors import InputError

_BATCH_NUMBERS = 1 << 18  # in one request: about 5 MB of JSON; servers accept 32 MB
_QUERIES_AT_ONCE = 16
_SAMPLE = 16  # points whose vectors are compared when a collection is used again
_CLOSE = 1e-6


class QdrantServerBackend:
    """Rows in a collection of a server, as points numbered by their indexes."""

    index = "flat"
    recall = None

    def __init__(self, contents: StoreContents, location: str) -> None:
        """Fill the collection, or check that it is complete.

        Raises:
            InputError: the server cannot be used, or the collection holds other points.
        """
        self._api = _api(location)
        self._count = len(contents.rows)
        self._collection = f"/collections/{_collection_name(contents)}"
        try:
            self._fill(contents)
            self._check_sample(contents)
        except BaseException:
            self._api.close()
            raise

    def _fill(self, contents: StoreContents) -> None:
        count, dimension = contents.rows.shape
        there = self._api.find(self._collection)
        if there is None:
            vectors = {"size": dimension, "distance": "Dot"}
            self._api.request("PUT", self._collection, {"vectors": vectors})
        elif _size_of(there) != dimension:
            raise self._other(f"its vectors do not have {dimension} dimensions")
        done = self._points()
        if done > count:
            raise self._other(f"it holds {done:,} points instead of {count:,}")
        if done == count:
            return
        batch = max(1, _BATCH_NUMBERS // dimension)
        with contents.phase("Uploading vectors to Qdrant", count) as advance:
            advance(done)
            for start in range(done, count, batch):
                part = slice(start, min(start + batch, count))
                numbers = range(part.start, part.stop)
                points = {
                    "ids": [*numbers],
                    "vectors": contents.rows[part].tolist(),
                    "payloads": [{"chunk_id": contents.ids[number]} for number in numbers],
                }
                self._api.request("PUT", f"{self._collection}/points?wait=true", {"batch": points})
                advance(len(numbers))
        if self._points() != count:
            raise self._other(f"it holds {self._points():,} points instead of {count:,}")

    def _points(self) -> int:
        result = self._api.request("POST", f"{self._collection}/points/count", {"exact": True})
        count = result.get("count") if isinstance(result, dict) else None
        if not isinstance(count, int):
            raise self._api.unexpected()
        return count

    def _check_sample(self, contents: StoreContents) -> None:
        numbers = np.unique(np.linspace(0, self._count - 1, _SAMPLE).astype(int)).tolist()
        body = {"ids": numbers, "with_vector": True, "with_payload": True}
        points = self._api.request("POST", f"{self._collection}/points", body)
        try:
            found = {point["id"]: (point["payload"]["chunk_id"], point["vector"]) for point in points}
            rows = np.array([found[number][1] for number in numbers], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise self._other("its points have other ids or vectors") from None
        same_ids = all(found[number][0] == contents.ids[number] for number in numbers)
        if not (same_ids and rows.shape == (len(numbers), contents.rows.shape[1])):
            raise self._other("its points have other ids or vectors")
        if not np.allclose(rows, contents.rows[numbers], atol=_CLOSE):
            raise self._other("its points have other ids or vectors")

    def _other(self, what: str) -> InputError:
        name = self._collection.rpartition("/")[2]
        return InputError(f"{self._api.name}: the collection {name} is not as it was uploaded: {what}; delete it")

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the nearest rows.

        Raises:
            InputError: the server does not give them.
        """
        found: list[list[Any]] = []
        for start in range(0, len(vectors), _QUERIES_AT_ONCE):
            queries = vectors[start : start + _QUERIES_AT_ONCE].tolist()
            searches = [{"query": row, "limit": limit, "params": {"exact": True}} for row in queries]
            answers = self._api.request("POST", f"{self._collection}/points/query/batch", {"searches": searches})
            try:
                found += [[point["id"] for point in answer["points"]] for answer in answers]
            except (KeyError, TypeError):
                raise self._api.unexpected() from None
        numbers = all(type(number) is int and 0 <= number < self._count for row in found for number in row)
        if not numbers or len(found) != len(vectors) or any(len({*row}) != limit for row in found):
            raise self._api.unexpected()
        return np.array(found, dtype=np.int64)

    def close(self) -> None:
        """Close the connections; the collection stays."""
        self._api.close()


def check_server(location: str) -> None:
    """Check that a server answers and accepts the API key.

    Raises:
        InputError: the URL is malformed, or the server cannot be used.
    """
    api = _api(location)
    try:
        api.request("GET", "/collections")
    finally:
        api.close()


def server_host(location: str) -> str:
    """Return the host of a server; empty if it is this machine.

    Raises:
        InputError: the URL is malformed.
    """
    return remote_host(_parse(location))


def _parse(location: str) -> str:
    shown = without_credentials(location)
    wrong = InputError(
        f"--vector-store qdrant:{shown}: not the URL of a Qdrant server, such as qdrant:http://localhost:6333"
    )
    if "#" in location:
        raise wrong
    return parse_url(location, "--vector-store qdrant", wrong)


def _api(location: str) -> QdrantApi:
    url = _parse(location)
    return QdrantApi(url, f"--vector-store qdrant:{url}")


def _collection_name(contents: StoreContents) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(contents.rows).data)
    digest.update(repr((contents.rows.shape, *contents.ids)).encode("utf-8", "surrogatepass"))
    return f"groundset-{digest.hexdigest()[:32]}"


def _size_of(result: Any) -> Any:
    try:
        return result["config"]["params"]["vectors"]["size"]
    except (KeyError, TypeError):
        return None
