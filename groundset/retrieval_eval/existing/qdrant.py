"""A collection of a running Qdrant server, searched by its REST API (Qdrant 1.10 and later).

The API key comes from `QDRANT_API_KEY` only. Question vectors are sent to the server, no texts.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from groundset.retrieval.stores.qdrant_api import QdrantApi, parse_url, remote_host, without_credentials
from groundset.retrieval_eval.existing.base import ExistingStore, StoreAnswer, StoreTask, Vectors
from programs.errors import InputError

_FORM = "URL#COLLECTION"
_BATCH = 16  # questions in one request; a hit may come with its text
_MOST_HITS = 1600


def search_collection(task: StoreTask, depth: int) -> StoreAnswer:
    """Search a collection; hits that are not chunks of the run are left out, and further ones requested.

    Raises:
        InputError: the server does not answer, there is no such collection, its vectors do not have the dimension of
            the embedder, or no hit is a chunk of the run.
    """
    server = _Server(_parse(task.location))
    try:
        if host := server.remote_host:
            task.notify(f"Question vectors go to {host}.")
        using = server.vector_name(task)
        rankings, entries = [], set()
        for start in range(0, len(task.questions), _BATCH):
            questions, limit = task.questions[start : start + _BATCH], depth
            while True:
                hits = server.search(questions, limit, task.key, using)
                found = [task.chunks.ranking(row, depth) for row in hits]
                is_done = all(len(row) < limit or len(ranks) == depth for row, ranks in zip(hits, found, strict=True))
                if is_done or limit >= _MOST_HITS:
                    break
                limit *= 2
            rankings += found
            entries |= {entry if isinstance(entry, str) else "" for row in hits for entry in row}
    finally:
        server.close()
    unknown = sum(task.chunks.find(entry) is None for entry in entries)
    if unknown == len(entries):
        raise InputError(
            f"{server.name}: no hit has the id or the text of a chunk of the run as {task.key!r} in its payload; name "
            "another key with --payload-key"
        )
    remark = f"{unknown:,} of {len(entries):,} found entries of {task.location} are not chunks of the run; left out."
    return StoreAnswer(rankings, remark if unknown else "")


class _Address(NamedTuple):
    url: str
    collection: str


def _parse(location: str) -> _Address:
    """Split a location.

    Raises:
        InputError: it is malformed, or contains credentials.
    """
    url, _, collection = location.partition("#")
    shown = without_credentials(url)
    wrong = InputError(f"--retriever qdrant:{shown}: must be qdrant:{_FORM}, such as qdrant:http://localhost:6333#docs")
    parsed = parse_url(url, "--retriever qdrant", wrong)
    if not collection:
        raise wrong
    return _Address(parsed, collection)


class _Server:
    """The requests to one collection."""

    def __init__(self, address: _Address) -> None:
        self._address = address
        self.name = f"--retriever qdrant:{address.url}#{address.collection}"
        self._api = QdrantApi(address.url, self.name)

    @property
    def remote_host(self) -> str:
        """Return the host; empty if it is this machine."""
        return remote_host(self._address.url)

    def vector_name(self, task: StoreTask) -> str | None:
        """Return the name of the vectors with the dimension of the questions, None if they have no name."""
        result = self._request("")
        config = result.get("config") if isinstance(result, dict) else None
        vectors = ((config or {}).get("params") or {}).get("vectors") if isinstance(config, dict) else None
        if not isinstance(vectors, dict):
            raise self._api.unexpected()
        named: Mapping[str | None, Any] = {None: vectors} if "size" in vectors else vectors
        sizes = {name: each.get("size") for name, each in named.items() if isinstance(each, dict)}
        dimension = task.questions.shape[1]
        fitting = [name for name, size in sizes.items() if size == dimension]
        if len(fitting) != 1:
            kept = ", ".join(str(size) if name is None else f"{size} ({name})" for name, size in sizes.items())
            if fitting:
                raise InputError(f"{self.name}: several of its vectors have {dimension} dimensions ({kept})")
            raise InputError(
                f"{self.name}: its vectors have {kept or 'no'} dimensions, "
                f"those of --embedder {task.embedder} {dimension}"
            )
        return fitting[0]

    def search(self, questions: Vectors, limit: int, key: str, using: str | None) -> list[list[Any]]:
        """Return the payload values of the nearest points of each question."""
        vector = {"using": using} if using is not None else {}
        searches = [{"query": row, "limit": limit, "with_payload": [key], **vector} for row in questions.tolist()]
        answers = self._request("/points/query/batch", {"searches": searches})
        try:
            rows = [[_value(point.get("payload"), key) for point in answer["points"]] for answer in answers]
        except (AttributeError, KeyError, TypeError):
            raise self._api.unexpected() from None
        if len(rows) != len(questions):
            raise self._api.unexpected()
        return rows

    def close(self) -> None:
        self._api.close()

    def _request(self, path: str, body: Any = None) -> Any:
        location = f"/collections/{quote(self._address.collection, safe='')}{path}"
        return self._api.request("GET" if body is None else "POST", location, body)


def _value(payload: Any, key: str) -> Any:
    """Return the value of a payload at a key, which may lead into nested objects (`metadata.chunk_id`)."""
    for name in (key,) if isinstance(payload, dict) and key in payload else key.split("."):
        payload = payload.get(name) if isinstance(payload, dict) else None
    return payload


def _check(location: str) -> None:
    _parse(location)


EXISTING_STORE = ExistingStore("qdrant", _FORM, _check, search_collection)
