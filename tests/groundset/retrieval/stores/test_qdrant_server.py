"""The server is Qdrant's client in its local mode behind HTTP; see ``tests/qdrant_server.py``."""

from contextlib import nullcontext

import numpy as np
import pytest
from qdrant_client import models
from qdrant_server import serving_qdrant

from groundset.retrieval.stores import check_store, open_store, receiving_host, store_folder
from groundset.retrieval.stores import qdrant_server as module
from programs.errors import InputError

IDS = [f"c{number}" for number in range(20)]


def unit(rows):
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


ROWS = unit(np.random.default_rng(0).normal(size=(20, 8)))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    monkeypatch.setattr(module, "_BATCH_NUMBERS", 48)  # 6 rows
    with serving_qdrant() as server:
        yield server


def uploads(server) -> int:
    found = sum('"batch"' in body for body in server.bodies)
    server.bodies.clear()
    return found


def test_vectors_are_uploaded_once_and_searched_exactly(server):
    for count in (4, 0):
        with open_store(server.store, IDS, ROWS) as store, open_store("faiss", IDS, ROWS) as exact:
            found, expected = store.search(ROWS, 7), exact.search(ROWS, 7)
            assert np.array_equal(found.indexes, expected.indexes)
            assert np.array_equal(found.similarities, expected.similarities)
            assert store.search(ROWS[:1], 50).indexes.shape == (1, 20)
            assert store.record() == {"index": "flat", "rows": 20, "exact": True, "recall_at_10": 1.0, "queries": 0}
        assert all('"exact":true' in body.replace(" ", "") for body in server.bodies if '"searches"' in body)
        assert uploads(server) == count
    [collection] = server.client.get_collections().collections
    assert server.client.retrieve(collection.name, [3])[0].payload == {"chunk_id": "c3"}


def test_runs_do_not_mix(server):
    others = [*IDS[:-1], "other"]
    for ids, rows in ((IDS, ROWS), (IDS, unit(ROWS + 1)), (others, ROWS), (IDS[:5], ROWS[:5])):
        with open_store(server.store, ids, rows) as store:
            assert store.search(rows[:2], 1).indexes.tolist() == [[0], [1]]
    assert len(server.client.get_collections().collections) == 4


def test_interrupted_upload_is_continued(server):
    server.most_writes = 2
    with pytest.raises(InputError, match=r"--vector-store qdrant:http://127.*507: No space left on device"):
        open_store(server.store, IDS, ROWS)
    server.most_writes, done = None, []
    server.bodies.clear()
    with open_store(server.store, IDS, ROWS, phase=lambda doing, total: nullcontext(done.append)) as store:
        assert store.search(ROWS[19:], 1).indexes.tolist() == [[19]]
    assert (uploads(server), done) == (2, [12, 6, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("dimension", "its vectors do not have 8 dimensions"),
        ("more", "it holds 21 points instead of 20"),
        ("id", "its points have other ids or vectors"),
        ("vector", "its points have other ids or vectors"),
        ("payload", "its points have other ids or vectors"),
    ],
)
def test_collection_that_was_changed_is_rejected(change, message, server):
    open_store(server.store, IDS, ROWS).close()
    client = server.client
    [collection] = client.get_collections().collections
    row = ROWS[0].tolist()
    if change == "dimension":
        client.delete_collection(collection.name)
        server.fill(collection.name, ROWS[:, :4], [{}] * 20)
    elif change == "id":
        client.delete(collection.name, [19])
        client.upsert(collection.name, [models.PointStruct(id=77, vector=row, payload={"chunk_id": "c19"})])
    else:
        number, payload = {"more": (20, {}), "vector": (19, {"chunk_id": "c19"}), "payload": (0, None)}[change]
        client.upsert(collection.name, [models.PointStruct(id=number, vector=row, payload=payload)])
    with pytest.raises(InputError, match=rf"collection {collection.name} is not as it was uploaded: {message}; delete"):
        open_store(server.store, IDS, ROWS)


def test_api_key(server, monkeypatch):
    server.key = "right"
    with pytest.raises(InputError, match=r"needs an API key; set QDRANT_API_KEY$"):
        check_store(server.store)
    monkeypatch.setenv("QDRANT_API_KEY", "wrong")
    with pytest.raises(InputError, match=r"rejects the API key in QDRANT_API_KEY$"):
        check_store(server.store)
    monkeypatch.setenv("QDRANT_API_KEY", "right")
    check_store(server.store)
    open_store(server.store, IDS, ROWS).close()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>", b"[]", b"{}", b'{"result": []}', b'{"result": [{"points": [{"id": 99}]}]}',
        b'{"result": [{"points": [{"id": "0"}]}]}', b'{"result": [{"points": []}]}', b'{"result": [3]}',
    ],
)  # fmt: skip
def test_server_that_is_not_qdrant(answer, server):
    with open_store(server.store, IDS, ROWS) as store:
        server.answer = answer
        with pytest.raises(InputError, match="does not answer like a Qdrant server"):
            store.search(ROWS[:1], 1)
    with pytest.raises(InputError, match=r"Qdrant server|is not as it was uploaded"):
        open_store(server.store, IDS, ROWS)


def test_no_server():
    with pytest.raises(InputError, match=r"--vector-store qdrant:http://127\.0\.0\.1:1: no Qdrant server answers"):
        check_store("qdrant:http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("ftp://host", "not the URL of a Qdrant server"),
        ("http://", "not the URL of a Qdrant server"),
        ("http://host:0", "not the URL of a Qdrant server"),
        ("http://host#docs", "not the URL of a Qdrant server"),
        ("http://user:s3cret@host", "must not contain credentials"),
        ("http://user:s3cret@[::1", "not the URL of a Qdrant server"),
    ],
)
def test_malformed_urls(location, message):
    for work in (check_store, receiving_host):
        with pytest.raises(InputError, match=message) as caught:
            work(f"qdrant:{location}")
        assert "s3cret" not in str(caught.value)


def test_receivers_and_folders():
    assert receiving_host("qdrant:https://vectors.example/path") == "vectors.example:6333"
    for here in ("faiss", "qdrant", "qdrant:folder", "qdrant:http://localhost:6333"):
        assert receiving_host(here) == ""
    assert store_folder("qdrant:http://host") == store_folder("faiss") == ""
    assert store_folder("qdrant:some/folder") == "some/folder"
