import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from programs.types import Chunk


def chunk(number: int) -> Chunk:
    text = f"text {number}"
    return Chunk(chunk_id=f"c{number}", doc_id="d", path="d", title="D", start=0, end=len(text), text=text)


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def encode_angle(texts):
    angles = [float(text) for text in texts]
    return unit(np.asarray([[np.cos(angle), np.sin(angle)] for angle in angles]))


def index_of(vectors: np.ndarray, encode, **options) -> ChunkIndex:
    chunks = [chunk(number) for number in range(len(vectors))]
    return ChunkIndex(chunks, open_store("faiss", [each.chunk_id for each in chunks], vectors), encode, **options)


def index_of_angles(*angles: float, depth: int = 50) -> ChunkIndex:
    return index_of(encode_angle(map(str, angles)), encode_angle, depth=depth)


def test_hits_are_sorted_by_similarity():
    hits = index_of_angles(1.0, 0.0, 0.5).search("0.1", 2)
    assert [hit.chunk_id for hit in hits] == ["c1", "c2"]
    assert hits[0].text == "text 1"
    assert hits[0].similarity == pytest.approx(np.cos(0.1), abs=1e-6)


def test_rank_is_of_the_best_relevant_chunk():
    index = index_of_angles(1.0, 0.0, 0.5)
    first = index.rank("0.1", (("c1",),))
    assert (first.rank, first.score, first.retrieved_id, first.retrieved_content) == (1, 1, "c1", "text 1")
    later = index.rank("0.1", (("c0", "c2"),))
    assert (later.rank, later.score, later.retrieved_id) == (2, 0, "c1")
    assert index.rank("0.1", (("elsewhere",),)).rank is None


def test_rank_requires_a_chunk_of_every_group():
    index = index_of_angles(0.1, 0.2, 0.3, 0.4)
    assert index.rank("0", (("c0",), ("c3",))).rank == 4
    assert index.rank("0", (("c0",), ("c3", "c1"))).rank == 2
    assert index.rank("0", (("c0",), ("elsewhere",))).rank is None
    assert index.rank("0", (("c3",), ("c0",))).score == 1


def test_near_omits_the_chunk_itself():
    index = index_of_angles(0.1, 0.25, 0.3, 0.6)
    assert [hit.chunk_id for hit in index.near("c2", 2)] == ["c1", "c0"]


def test_no_rank_beyond_the_depth():
    index = index_of_angles(*np.linspace(0, 1, 20), depth=5)
    assert index.rank("0", (("c4",),)).rank == 5
    assert index.rank("0", (("c5",),)).rank is None


@given(st.integers(1, 40), st.integers(0, 1000))
def test_faiss_agrees_with_numpy(count, seed):
    rng = np.random.default_rng(seed)
    vectors = unit(rng.normal(size=(count, 8)))
    query = unit(rng.normal(size=(1, 8)))
    index = index_of(vectors, lambda texts: query)
    expected = [f"c{number}" for number in np.argsort(-(vectors @ query[0]))]
    assert [hit.chunk_id for hit in index.search("any")] == expected


def test_threads_can_share_an_index():
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(500, 32)))
    index = index_of(vectors, lambda texts: vectors[[int(text) for text in texts]])
    wrong: list[int] = []

    def work(start: int) -> None:
        wrong.extend(n for n in range(start, 500, 8) if index.rank(str(n), ((f"c{n}",),)).rank != 1)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_search_many_equals_single_searches():
    index = index_of_angles(*np.linspace(0, 1, 20))
    queries = ["0.1", "0.7", "0.1"]
    assert index.search_many(queries, 4) == [index.search(query, 4) for query in queries]
    assert index.search_many([], 4) == []


def test_store_must_contain_the_chunks():
    store = open_store("faiss", ["c1"], np.ones((1, 1), dtype=np.float32))
    with pytest.raises(ValueError, match="other chunks"):
        ChunkIndex([chunk(0)], store, encode_angle)
