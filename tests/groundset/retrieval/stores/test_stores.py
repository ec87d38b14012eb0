import os
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.data_files import data_path
from groundset.retrieval.stores import STORES, check_store, open_store
from programs.errors import InputError


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


@pytest.fixture(params=["faiss", "qdrant", "qdrant:FOLDER"])
def spec(request, tmp_path):
    return request.param.replace("FOLDER", str(tmp_path / "store"))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_search_without_network(spec, no_network):
    angles = np.array([1.0, 0.0, 0.5])
    rows = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    with open_store(spec, names(3), rows) as store:
        results = store.search(rows[[1, 0]], 2)
        assert results.indexes.tolist() == [[1, 2], [0, 2]]
        np.testing.assert_allclose(results.similarities, [[1, np.cos(0.5)]] * 2, atol=1e-6)
        assert store.search(rows[:1], 10).indexes.shape == (1, 3)
        assert (len(store), store.ids) == (3, ("c0", "c1", "c2"))


def test_equal_rows_are_in_order_at_the_limit(spec):
    rows = np.repeat(unit(np.random.default_rng(0).normal(size=(3, 16))), 40, axis=0)
    with open_store(spec, names(120), rows) as store:
        for queries in (rows[40:41], np.repeat(rows[40:41], 30, axis=0)):
            assert store.search(queries, 5).indexes.tolist() == [[40, 41, 42, 43, 44]] * len(queries)


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 60), limit=st.integers(1, 70), kinds=st.integers(1, 60), seed=st.integers(0, 1000))
@pytest.mark.parametrize("name", list(STORES))
def test_every_store_agrees_with_double_precision(name, count, limit, kinds, seed):
    rng = np.random.default_rng(seed)
    rows = unit(rng.normal(size=(kinds, 8)))[rng.integers(0, kinds, count)]
    queries = unit(rng.normal(size=(3, 8)))
    cosines = (rows.astype(np.float64)[None] * queries[:, None]).sum(axis=2)
    with open_store(name, names(count), rows) as store:
        results = store.search(queries, limit)
    expected = np.argsort(-cosines, axis=1, kind="stable")[:, :limit]
    assert np.array_equal(results.indexes, expected)
    assert np.array_equal(results.similarities, np.take_along_axis(cosines, expected, axis=1).clip(-1, 1))


@pytest.mark.model
def test_stores_give_the_same_ranks_on_real_text(tmp_path):
    from groundset.corpus.corpus import CorpusOptions, build_corpus
    from groundset.retrieval.embedder import load_embedder

    chunks = build_corpus([data_path("samples")], CorpusOptions(chunk_size=400)).chunks
    embedder = load_embedder("all-minilm-l6-v2")
    rows = embedder.encode([chunk.text for chunk in chunks])
    queries = embedder.encode([chunk.text.split(". ")[0] for chunk in chunks])
    results = []
    for spec in ("faiss", "qdrant", f"qdrant:{tmp_path / 'store'}"):
        with open_store(spec, [chunk.chunk_id for chunk in chunks], rows) as store:
            results.append(store.search(queries, 50))
            alone = store.search(queries[7:8], 50)
        assert np.array_equal(alone.indexes[0], results[-1].indexes[7])
    assert len(chunks) > 100
    for other in results[1:]:
        assert np.array_equal(results[0].indexes, other.indexes)
        assert np.array_equal(results[0].similarities, other.similarities)


def test_folder_is_replaced_and_can_be_read_with_any_client(tmp_path):
    from qdrant_client import QdrantClient

    folder = tmp_path / "new" / "store"
    rows = unit(np.random.default_rng(0).normal(size=(20, 8)))
    for count in (20, 7):
        with open_store(f"qdrant:{folder}", names(count), rows[:count]) as store:
            assert store.search(rows[:1], 50).indexes.shape == (1, count)
    client = QdrantClient(path=str(folder))
    assert client.count("chunks").count == 7
    assert client.retrieve("chunks", [3])[0].payload == {"chunk_id": "c3"}
    client.close()
    check_store(f"qdrant:{folder}")


def test_store_of_a_killed_process_is_replaced(tmp_path):
    (tmp_path / "groundset.lock").touch()
    (tmp_path / "collection" / "chunks").mkdir(parents=True)
    (tmp_path / "collection" / "chunks" / "storage.sqlite").write_bytes(b"half")
    (tmp_path / "meta.json").write_text("{")
    rows = unit(np.ones((1, 4)))
    with open_store(f"qdrant:{tmp_path}", ["c"], rows) as store:
        assert store.search(rows, 1).indexes.tolist() == [[0]]


def test_store_can_be_used_and_closed_by_another_thread(spec):
    rows = unit(np.random.default_rng(0).normal(size=(5, 4)))
    store = open_store(spec, names(5), rows)
    found = []

    def work():
        found.append(store.search(rows, 1).indexes.ravel().tolist())
        store.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[0, 1, 2, 3, 4]]


def test_folder_in_use(tmp_path):
    rows = unit(np.ones((1, 4)))
    with (
        open_store(f"qdrant:{tmp_path}", ["c"], rows),
        pytest.raises(InputError, match="another process uses it"),
    ):
        open_store(f"qdrant:{tmp_path}", ["c"], rows)


def test_large_collections_give_no_warning(spec):
    rows = np.repeat(unit(np.ones((1, 2))), 20_001 if "FOLDER" not in spec and "/" not in spec else 10, axis=0)
    with open_store(spec, names(len(rows)), rows) as store:
        assert store.search(rows[:1], 1).indexes.tolist() == [[0]]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("chroma", "--vector-store chroma: no such store; choose one of faiss, qdrant, qdrant:FOLDER, qdrant:URL"),
        ("faiss:here", "faiss takes no folder"),
        ("qdrant:", "the folder or URL is missing"),
        ("qdrant:{tmp}/other", "contains other files"),
        ("qdrant:{tmp}/other/notes.txt", "is a file, not a folder"),
        ("qdrant:{tmp}/other/notes.txt/store", "cannot be written|Not a directory"),
    ],
)
def test_invalid_stores_are_rejected_and_unchanged(spec, message, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    spec = spec.replace("{tmp}", str(tmp_path))
    with pytest.raises(InputError, match=message):
        check_store(spec)
    with pytest.raises(InputError, match=message):
        open_store(spec, ["c"], np.ones((1, 1), dtype=np.float32))
    assert [path.name for path in other.iterdir()] == ["notes.txt"]


def test_store_folder_with_other_files(tmp_path):
    rows = unit(np.ones((1, 4)))
    open_store(f"qdrant:{tmp_path}", ["c"], rows).close()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="contains other files"):
        check_store(f"qdrant:{tmp_path}")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        check_store(f"qdrant:{tmp_path / 'store'}")


def test_error_without_the_client_names_the_package(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'groundset\[qdrant\]'"):
        check_store("qdrant")


@pytest.mark.parametrize(("ids", "shape"), [(0, (0, 4)), (2, (1, 4)), (1, (4,))])
def test_vectors_must_match_the_ids(ids, shape):
    with pytest.raises(ValueError, match="chunks and vectors of shape"):
        open_store("faiss", names(ids), np.zeros(shape, dtype=np.float32))


def test_check_store_writes_nothing(tmp_path):
    check_store(f"qdrant:{tmp_path / 'store'}")
    assert list(Path(tmp_path).iterdir()) == []
