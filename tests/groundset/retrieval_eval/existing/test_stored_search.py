"""Search of existing stores: index files of FAISS, and collections of a Qdrant server."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from qdrant_server import QdrantServer, serving_qdrant

from groundset.retrieval_eval.existing import EXISTING_STORES
from groundset.retrieval_eval.existing.base import ChunkFinder, StoreAnswer, StoreTask
from programs.errors import InputError
from programs.types import Chunk

CHUNKS = [
    Chunk(chunk_id=f"c{n}", doc_id="d", path="d.md", title="", text=f"Ferry  number {n}.", start=n, end=n + 5)
    for n in range(60)
]
GENERATOR = np.random.default_rng(0)


def unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


VECTORS = unit(GENERATOR.normal(size=(60, 8)))
QUESTIONS = unit(GENERATOR.normal(size=(20, 8)))
EXACT = np.argsort(-(QUESTIONS @ VECTORS.T), axis=1)


def search(retriever: str, depth: int = 50, *, key: str = "chunk_id", questions: Any = QUESTIONS) -> StoreAnswer:
    kind, _, location = retriever.partition(":")
    EXISTING_STORES[kind].check(location)
    notes: list[str] = []
    answer = EXISTING_STORES[kind].search(
        StoreTask(location, key, "mini", questions, ChunkFinder(CHUNKS), notes.append), depth
    )
    assert notes == []  # loopback
    return answer


def saved(folder: Path, index: Any, ids: Any = tuple(chunk.chunk_id for chunk in CHUNKS)) -> str:
    faiss.write_index(index, str(folder / "docs.index"))
    (folder / "docs.index.ids.json").write_text(json.dumps(ids), encoding="utf-8")
    return f"faiss:{folder / 'docs.index'}"


def filled(index: Any, vectors: Any = VECTORS) -> Any:
    index.add(vectors)
    return index


@pytest.mark.parametrize("index", [faiss.IndexFlatIP(8), faiss.IndexFlatL2(8)])
def test_exact_index(tmp_path: Path, index: Any) -> None:
    answer = search(saved(tmp_path, filled(index)))
    assert answer == (EXACT[:, :50].tolist(), "")


def test_approximate_index(tmp_path: Path) -> None:
    answer = search(saved(tmp_path, filled(faiss.IndexHNSWFlat(8, 16))))
    assert [ranking[:3] for ranking in answer.rankings] == EXACT[:, :3].tolist()


def test_texts_as_ids_and_unknown_ids(tmp_path: Path) -> None:
    ids = ["Ferry number 0.\n", *(f"c{n}" for n in range(1, 58)), "other", "c1"]
    vectors = np.concatenate([VECTORS[:58], QUESTIONS[:1], VECTORS[1:2]])
    answer = search(saved(tmp_path, filled(faiss.IndexFlatIP(8), vectors), ids), 55)
    known = [[place for place in row if place < 58][:55] for row in EXACT.tolist()]
    assert answer.rankings == known
    assert answer.remark == f"1 of 60 ids of faiss:{tmp_path / 'docs.index'} are not chunks of the run; left out."


def test_index_with_fewer_rows_than_the_depth(tmp_path: Path) -> None:
    answer = search(saved(tmp_path, filled(faiss.IndexFlatIP(8), VECTORS[:3]), ["c0", "c1", "c2"]))
    assert all(sorted(row) == [0, 1, 2] for row in answer.rankings)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (None, r"needs .*docs\.index\.ids\.json, a JSON list"),
        ("{", r"docs\.index\.ids\.json: not JSON"),
        ('{"a": 1}', "must be a JSON list of chunk ids"),
        ("[1, 2]", "must be a JSON list of chunk ids"),
        ('["c1"]', "has 60 rows, .* 1 ids"),
        (json.dumps(["x"] * 60), "no entry of .* is the id or the text of a chunk of the run"),
    ],
)
def test_wrong_ids(tmp_path: Path, ids: str | None, message: str) -> None:
    retriever = saved(tmp_path, filled(faiss.IndexFlatIP(8)))
    file = tmp_path / "docs.index.ids.json"
    file.unlink() if ids is None else file.write_text(ids, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        search(retriever)


def test_other_dimension(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its vectors have 8 dimensions, those of --embedder mini 4"):
        search(saved(tmp_path, filled(faiss.IndexFlatIP(8))), questions=unit(QUESTIONS[:, :4]))


def test_own_ids_in_an_index(tmp_path: Path) -> None:
    index = faiss.IndexIDMap(faiss.IndexFlatIP(8))
    index.add_with_ids(VECTORS, np.arange(1000, 1060))
    with pytest.raises(InputError, match="its labels are not row numbers"):
        search(saved(tmp_path, index))


@pytest.mark.parametrize("content", [b"", b"IxFI" + b"\xff" * 200, pickle.dumps([1])])
def test_file_that_is_no_index(tmp_path: Path, content: bytes) -> None:
    retriever = saved(tmp_path, filled(faiss.IndexFlatIP(8)))
    (tmp_path / "docs.index").write_bytes(content)
    with pytest.raises(InputError, match=r"--retriever faiss:.*docs\.index: (not an index|takes|aborts|crashes)"):
        search(retriever)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file"):
        search(f"faiss:{tmp_path / 'none'}")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with serving_qdrant() as server:
        yield server


def payloads() -> list[dict[str, Any]]:
    return [{"chunk_id": chunk.chunk_id, "text": chunk.text, "metadata": {"id": chunk.chunk_id}} for chunk in CHUNKS]


@pytest.mark.parametrize("key", ["chunk_id", "text", "metadata.id"])
def test_collection(server: QdrantServer, key: str) -> None:
    server.fill("my docs", VECTORS, payloads())
    answer = search(server.retriever("my docs"), key=key)
    assert answer == (EXACT[:, :50].tolist(), "")
    assert "Ferry" not in "".join(server.bodies)


def test_named_vectors_are_found_by_their_dimension(server: QdrantServer) -> None:
    server.fill("docs", VECTORS, payloads(), using="small")
    assert search(server.retriever("docs")).rankings == EXACT[:, :50].tolist()


def test_other_points_are_left_out_and_counted(server: QdrantServer) -> None:
    others = np.repeat(QUESTIONS[:5], 30, axis=0)
    extra = [{"chunk_id": f"x{n}"} if n % 2 else {"title": "none"} for n in range(len(others))]
    server.fill("docs", np.concatenate([others, VECTORS]), [*extra, *payloads()])
    answer = search(server.retriever("docs"))
    assert answer.rankings == EXACT[:, :50].tolist()
    # Points without the key are one entry.
    location = server.retriever("docs").partition(":")[2]
    assert answer.remark == f"76 of 136 found entries of {location} are not chunks of the run; left out."


def test_key_of_the_environment(server: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.fill("docs", VECTORS, payloads())
    server.key = "s3cret"
    with pytest.raises(InputError, match="the server needs an API key; set QDRANT_API_KEY"):
        search(server.retriever("docs"))
    monkeypatch.setenv("QDRANT_API_KEY", "wr0ng")
    with pytest.raises(InputError, match="the server rejects the API key in QDRANT_API_KEY") as caught:
        search(server.retriever("docs"))
    assert "wr0ng" not in str(caught.value)
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret\n")
    assert len(search(server.retriever("docs")).rankings) == len(QUESTIONS)
    monkeypatch.setenv("QDRANT_API_KEY", "s3\ncret")
    with pytest.raises(InputError, match="QDRANT_API_KEY contains"):
        search(server.retriever("docs"))


@pytest.mark.parametrize(
    ("name", "size", "key", "message"),
    [
        ("none", 8, "chunk_id", r"answers 404: Not found: Collection `none` doesn't exist!"),
        ("docs", 4, "chunk_id", "its vectors have 8 dimensions, those of --embedder mini 4"),
        ("named", 4, "chunk_id", r"its vectors have 8 \(small\) dimensions, those of --embedder mini 4"),
        ("docs", 8, "id", "no hit has the id or the text of a chunk of the run as 'id' .*--payload-key"),
    ],
)
def test_wrong_collection(server: QdrantServer, name: str, size: int, key: str, message: str) -> None:
    server.fill("docs", VECTORS, payloads())
    server.fill("named", VECTORS, payloads(), using="small")
    with pytest.raises(InputError, match=rf"--retriever qdrant:http://127.*#{name}: .*{message}"):
        search(server.retriever(name), key=key, questions=unit(QUESTIONS[:, :size]))


def test_two_fitting_vectors(server: QdrantServer) -> None:
    from qdrant_client import models

    params = models.VectorParams(size=8, distance=models.Distance.DOT)
    server.client.create_collection("docs", vectors_config={"a": params, "b": params})
    with pytest.raises(InputError, match=r"several of its vectors have 8 dimensions \(8 \(a\), 8 \(b\)\)"):
        search(server.retriever("docs"))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"result": null}',
        b'{"result": {"config": {"params": {"vectors": 3}}}}',
        b'{"result": {"config": {"params": {"vectors": {"size": 8}}}}}',
        b"[" * 100_000,
    ],
)
def test_server_that_is_not_qdrant(server: QdrantServer, answer: bytes) -> None:
    server.fill("docs", VECTORS, payloads())
    server.answer = answer
    with pytest.raises(InputError, match="does not answer like a Qdrant server"):
        search(server.retriever("docs"))


def test_no_server() -> None:
    with pytest.raises(InputError, match=r"qdrant:http://127\.0\.0\.1:1#docs: no Qdrant server answers"):
        search("qdrant:http://127.0.0.1:1#docs")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "must be qdrant:URL#COLLECTION"),
        ("http://localhost:6333", "must be qdrant:URL#COLLECTION"),
        ("localhost:6333#docs", "must be qdrant:URL#COLLECTION"),
        ("http://[::1#docs", "must be qdrant:URL#COLLECTION"),
        ("http://localhost:0#docs", "must be qdrant:URL#COLLECTION"),
        ("http://user:s3cret@host#docs", "the URL of host must not contain credentials"),
        ("https://host?key=s3cret#docs", "the URL of host must not contain credentials"),
        ("http://user:s3cret@[::1#docs", "must be qdrant:URL#COLLECTION"),
    ],
)
def test_wrong_url(location: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        search(f"qdrant:{location}")
    assert "s3cret" not in str(caught.value)
