"""Search of the chunks of a run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from evaluation_sets import chunk

from groundset.programs.types import Retrieval
from groundset.retrieval.index import Index


class Angles:
    """Embeds a number as a direction."""

    def encode(self, texts):
        angles = np.array(texts, dtype=np.float32)
        return np.column_stack([np.cos(angles), np.sin(angles)])


def index_of_angles(*angles):
    chunks = [chunk(f"c{n}", f"**text** {n}", title="D") for n in range(len(angles))]
    return Index(Angles().encode(angles), chunks, Angles())


def test_hits_are_sorted_by_similarity():
    hits = index_of_angles(1.0, 0.0, 0.5).search("0.1", 2)
    assert [(hit.chunk_id, hit.passage, hit.topic) for hit in hits] == [
        ("c1", "text 1", "D"),
        ("c2", "text 2", "D"),
    ]
    assert hits[0].similarity == pytest.approx(np.cos(0.1), abs=1e-6)
    alike = index_of_angles(*[0.5] * 200).search("0.5", 3)
    assert [hit.chunk_id for hit in alike] == ["c0", "c1", "c2"], "the order of the chunks"


@pytest.mark.parametrize(
    ("groups", "rank", "score"),
    [
        (["c0"], 1, 1),
        (["c2 c1"], 2, 0),
        (["c0", "c3"], 4, 1),
        (["c3 c1", "c0"], 2, 1),
        (["c0", "elsewhere"], None, 1),
        (["elsewhere"], None, 0),
        ([], None, 0),
    ],
)
def test_rank_is_of_the_best_chunk_of_the_last_group(groups, rank, score):
    first = {"retrieved_id": "c0", "retrieved_content": "**text** 0"}
    found = index_of_angles(0.1, 0.2, 0.3, 0.4).rank("0", [group.split() for group in groups])
    assert found == Retrieval(rank=rank, score=score, **first)


def test_no_rank_beyond_the_depth():
    index = index_of_angles(*np.linspace(0, 1, 60))
    assert index.rank("0", (("c49",),)).rank == 50
    assert index.rank("0", (("c50",),)).rank is None


def test_nearest_omits_the_chunk_itself():
    index = index_of_angles(0.1, 0.25, 0.3, 0.6)
    assert [hit.chunk_id for hit in index.nearest("c2", 2)] == ["c1", "c0"]
    assert index_of_angles(0.1).nearest("c0", 3) == []


def test_threads_can_share_an_index():
    angles = [f"{number / 200}" for number in range(500)]
    index = index_of_angles(*angles)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(index.search, angles))
    assert [hits[0].chunk_id for hits in found] == [f"c{number}" for number in range(500)]


def test_several_queries_at_once():
    index = index_of_angles(*np.linspace(0, 1, 20))
    queries = ["0.1", "0.7", "0.1"]
    assert index.search_many(queries, 4) == [index.search(query, 4) for query in queries]
    assert index.search_many([], 4) == []
    assert index_of_angles().search_many(["1"]) == [[]]
