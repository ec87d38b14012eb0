"""Search of the chunks of a run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from evaluation_sets import chunk
from hypothesis import given
from hypothesis import strategies as st

from groundset.retrieval.index import Index


def unit(rows):
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


class Angles:
    """Embeds a number as a direction."""

    def encode(self, texts):
        angles = [float(text) for text in texts]
        return unit(np.asarray([[np.cos(angle), np.sin(angle)] for angle in angles]).reshape(-1, 2))


class Rows:
    """Embeds the number of a row as that row."""

    def __init__(self, rows):
        self.rows = rows

    def encode(self, texts):
        return self.rows[[int(text) for text in texts]]


def index_of(vectors, encoder):
    chunks = [chunk(f"c{n}", f"**text** {n}", title="D") for n in range(len(vectors))]
    return Index(vectors, chunks, encoder)


def index_of_angles(*angles):
    return index_of(Angles().encode(map(str, angles)), Angles())


def test_hits_are_sorted_by_similarity():
    hits = index_of_angles(1.0, 0.0, 0.5).search("0.1", 2)
    assert [(hit.chunk_id, hit.passage, hit.topic) for hit in hits] == [
        ("c1", "text 1", "D"),
        ("c2", "text 2", "D"),
    ]
    assert hits[0].similarity == pytest.approx(np.cos(0.1), abs=1e-6)


def test_rank_is_of_the_best_chunk_of_the_last_group():
    index = index_of_angles(0.1, 0.2, 0.3, 0.4)
    first = index.rank("0", (("c0",),))
    assert first.rank == 1
    assert first.score == 1
    assert first.retrieved_id == "c0"
    assert first.retrieved_content == "**text** 0"
    later = index.rank("0", (("c2", "c1"),))
    assert later.rank == 2
    assert later.score == 0
    assert later.retrieved_id == "c0"
    assert index.rank("0", (("c0",), ("c3",))).rank == 4
    assert index.rank("0", (("c0",), ("c3", "c1"))).rank == 2
    assert index.rank("0", (("c3",), ("c0",))).score == 1
    for groups in ((("c0",), ("elsewhere",)), (("elsewhere",),), ()):
        assert index.rank("0", groups).rank is None


def test_no_rank_beyond_the_depth():
    index = index_of_angles(*np.linspace(0, 1, 60))
    assert index.rank("0", (("c49",),)).rank == 50
    assert index.rank("0", (("c50",),)).rank is None


def test_nearest_omits_the_chunk_itself():
    index = index_of_angles(0.1, 0.25, 0.3, 0.6)
    assert [hit.chunk_id for hit in index.nearest("c2", 2)] == ["c1", "c0"]
    assert index_of_angles(0.1).nearest("c0", 3) == []


def test_equal_rows_keep_the_order_of_the_chunks():
    rows = np.repeat(unit(np.ones((1, 8))), 200, axis=0)
    assert [hit.chunk_id for hit in index_of(rows, Rows(rows)).search("0", 3)] == ["c0", "c1", "c2"]


@given(st.integers(1, 40), st.integers(0, 1000))
def test_search_agrees_with_numpy(count, seed):
    rows = unit(np.random.default_rng(seed).normal(size=(count + 1, 8)))
    index = index_of(rows[1:], Rows(rows))
    expected = [f"c{number}" for number in np.argsort(-(rows[1:] @ rows[0]))]
    assert [hit.chunk_id for hit in index.search("0")] == expected


def test_threads_can_share_an_index():
    rows = unit(np.random.default_rng(0).normal(size=(500, 32)))
    index = index_of(rows, Rows(rows))

    def rank(number):
        return index.rank(str(number), ((f"c{number}",),)).rank

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(rank, range(500))) == {1}


def test_several_queries_at_once():
    index = index_of_angles(*np.linspace(0, 1, 20))
    queries = ["0.1", "0.7", "0.1"]
    assert index.search_many(queries, 4) == [index.search(query, 4) for query in queries]
    assert index.search_many([], 4) == []
    assert index_of_angles().search_many(["1"]) == [[]]
