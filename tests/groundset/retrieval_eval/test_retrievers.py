"""Retrievers beside the dense one, and rankings of other systems."""

import json
import math
from pathlib import Path

import pytest

from groundset.commands.roundtrip import RoundtripOptions
from groundset.engine.config import make_config
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval_eval.configs import RETRIEVER_FORMS, retriever_configs
from groundset.retrieval_eval.rankings import read_rankings
from groundset.retrieval_eval.retrievers.base import SearchTask
from groundset.retrieval_eval.retrievers.bm25 import search_bm25
from groundset.retrieval_eval.retrievers.hybrid import fuse, search_hybrid
from programs.errors import InputError
from programs.types import Chunk, Retrieval, Sample

TEXTS = [
    "The ferry leaves Tollvik at nine.",
    "The clock of Orsle was cast by Brenn. The clock strikes nine.",
    "Der Schiffer von Straße 9 fährt um zehn.",
    "",
]
CHUNKS = [
    Chunk(chunk_id=f"c {n}", doc_id="d", path="d.md", title="", text=text, start=n, end=n + len(text))
    for n, text in enumerate(TEXTS)
]
SAMPLES = [
    Sample(
        id=f"q {n}", question="?", answer="a", evolution="simple", language="en", contexts=(CHUNKS[0],),
        retrieval_gt=(("c 0",),), probability=0.9, trail=(),
        retrieval=Retrieval(rank=1, retrieved_id="", retrieved_content="", score=0),
    )
    for n in range(3)
]  # fmt: skip


def task(*questions: str, dense: list[list[int]] | None = None) -> SearchTask:
    def search(depth: int) -> list[list[int]]:
        assert dense is not None, "nothing has to be embedded"
        return [ranking[:depth] for ranking in dense]

    return SearchTask(TEXTS, questions, search)


def bm25(words: list[str], place: int) -> float:
    """Return the score by the formula of Lucene, k1 = 1.5 and b = 0.75."""
    texts = [text.lower().replace(".", "").split() for text in TEXTS]
    mean = sum(map(len, texts)) / len(texts)
    score = 0.0
    for word in words:
        holding = sum(word in text for text in texts)
        inverse = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        count = texts[place].count(word)
        score += inverse * count / (count + 1.5 * (0.25 + 0.75 * len(texts[place]) / mean))
    return score


def test_bm25_ranks_by_the_published_formula() -> None:
    words = ["the", "nine", "clock", "ferry"]
    expected = sorted((place for place in range(4) if bm25(words, place)), key=lambda place: -bm25(words, place))
    assert search_bm25(task("The NINE clock ferry unknown?"), 50) == [expected]
    assert search_bm25(task("The NINE clock ferry"), 1) == [expected[:1]]


def test_bm25_reads_words_of_any_language_and_finds_nothing_without_one() -> None:
    assert search_bm25(task("straße", "Unheard!", "?"), 50) == [[2], [], []]
    assert search_bm25(SearchTask(["", "…"], ["ferry"], task().dense), 50) == [[]]


def test_hybrid_joins_both_rankings() -> None:
    assert search_hybrid(task("ferry", dense=[[1, 0, 3]]), 50) == [[0, 1, 3]]
    assert fuse([[5, 6, 7], [7, 8]], 3) == [7, 5, 6]


def test_each_retriever_is_combined_with_what_it_takes() -> None:
    config = make_config({"documents": ("docs",), "embedder": "mini"})
    file = Path("theirs.trec")
    found = retriever_configs(config, ["mini", "large"], [], [500], retrievers=["bm25", "hybrid"], rankings=[file])
    assert [(each.retriever, each.embedder, each.size) for each in found] == [
        ("dense", "mini", "1000 characters"),
        ("bm25", "", "500 characters"),
        ("hybrid", "mini", "500 characters"),
        ("hybrid", "large", "500 characters"),
        ("theirs.trec", "", "1000 characters"),
    ]
    for name in ("magic", "magic:file"):
        with pytest.raises(InputError, match=rf"--retriever {name}: .*bm25, dense, hybrid, faiss:FILE, qdrant:URL#"):
            retriever_configs(config, [], [], [], retrievers=[name])


def test_existing_stores_hold_the_chunks_of_the_run() -> None:
    config = make_config({"documents": ("docs",), "embedder": "mini"})
    store = "qdrant:http://host#docs"
    found = retriever_configs(config, ["mini", "large"], [], [500, 800], retrievers=["bm25", store])
    assert [(each.retriever, each.embedder, each.size) for each in found[1:]] == [
        ("bm25", "", "500 characters"),
        ("bm25", "", "800 characters"),
        (store, "mini", "1000 characters"),
        (store, "large", "1000 characters"),
    ]
    assert [each.store and each.store.name for each in found] == [None, None, None, "qdrant", "qdrant"]
    with pytest.raises(InputError, match=r"--retriever faiss:none: no such file"):
        retriever_configs(config, [], [], [], retrievers=["faiss:none"])


def test_help_agrees_with_the_tables() -> None:
    fields = RoundtripOptions.model_fields
    assert all(form in str(fields["retriever"].description) for form in RETRIEVER_FORMS)
    assert fields["rerank_depth"].default == SEARCH_DEPTH


def test_all_follow_again_with_each_reranker() -> None:
    config = make_config({"documents": ("docs",), "embedder": "mini"})
    rankings = [Path("qdrant:theirs.trec")]
    found = retriever_configs(config, [], [], [], retrievers=["bm25"], rankings=rankings, rerankers=["one", "two"])
    names = ["dense", "bm25", "qdrant:theirs.trec"]
    assert [(each.retriever, each.reranker) for each in found] == [
        (name, reranker) for reranker in ("", "one", "two") for name in names
    ]
    assert all(each.store is None for each in found)


def test_a_trec_run_is_read_by_its_scores(tmp_path: Path) -> None:
    file = tmp_path / "theirs.trec"
    file.write_text("q%201 Q0 c%201 2 1.5 x\nq%201 Q0 c%200 1 1.5 x\n\nq%201\tQ0\tc%202\t3\t9\tx\n", encoding="utf-8")
    assert read_rankings(file, SAMPLES, CHUNKS, 50) == [[], [2, 0, 1], []]
    assert read_rankings(file, SAMPLES, CHUNKS, 2) == [[], [2, 0], []]


def test_json_lines_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    rows = [{"id": "q 0", "chunk_ids": ["c 2", "c 0", "c 2"]}, {"id": "q 2", "chunk_ids": []}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert read_rankings(file, SAMPLES, CHUNKS, 50) == [[2, 0], [], []]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.trec", "q Q0 c%201 1 1 x", "line 1: no question q in the run"),
        ("a.trec", "q%201 Q0 c 1 1 x", "line 1: no chunk c in the run"),
        ("a.trec", "q%201 c%201 1", "line 1: 6 columns"),
        ("a.trec", "q%201 Q0 c%201 first 1 x", "line 1: rank and score must be numbers"),
        ("a.trec", "q%201 Q0 c%201 1 NaN x", "line 1: rank and score must be numbers"),
        ("a.trec", "\n", "no rankings found"),
        ("a.jsonl", '{"id": "q 1", "chunk_ids": "c 1"}', "line 1, column chunk_ids"),
        ("a.jsonl", '{"id": "q 1", "chunk_ids": ["c 9"]}', "line 1: no chunk c 9 in the run"),
    ],
)
def test_a_malformed_ranking_is_refused_by_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_rankings(tmp_path / name, SAMPLES, CHUNKS, 50)


def test_a_missing_ranking_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--ranking .*none\.trec: No such file"):
        read_rankings(tmp_path / "none.trec", SAMPLES, CHUNKS, 50)
