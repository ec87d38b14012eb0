"""Retrievers beside the dense one, and rankings of other systems."""

import math

import pytest
from refusal import refuses

from groundset.retrieval.retrievers import bm25, fuse, read_ranking

TEXTS = [
    "The ferry leaves Tollvik at nine.",
    "The clock of Orsle was cast by Brenn. The clock strikes nine.",
    "Der Schiffer von Straße 9 fährt um zehn.",
    "",
]
BY_ID = {f"c {n}": text for n, text in enumerate(TEXTS)}
CHUNKS, QUESTIONS = [f"c {n}" for n in range(4)], [f"q {n}" for n in range(3)]


def by_formula(words, place):
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


def test_bm25_ranks_by_the_published_formula():
    words = ["the", "nine", "clock", "ferry"]
    expected = sorted(
        (n for n in range(4) if by_formula(words, n)), key=lambda place: -by_formula(words, place)
    )
    assert bm25(BY_ID)("The NINE clock ferry unknown?") == [f"c {n}" for n in expected]


def test_bm25_reads_words_of_any_language_and_finds_nothing_without_one():
    assert list(map(bm25(BY_ID), ["straße", "Unheard!", "?"])) == [["c 2"], [], []]
    assert bm25({"a": "", "b": "…"})("ferry") == []
    marked = bm25({"a": "दान की नाव", "b": "दिन की नाव", "c": "Fähre"})
    assert list(map(marked, ["दिन", "Fa\u0308hre"])) == [["b"], ["c"]]


def test_fused_rankings():
    assert fuse(list("567"), list("78")) == list("7568")
    assert fuse(list("103"), list("0")) == list("013")


def test_a_trec_run_is_read_by_its_scores(tmp_path):
    file = tmp_path / "theirs.trec"
    file.write_text(
        "q%201 Q0 c%201 2 1.5 x\nq%201 Q0 c%200 1 1.5 x\n\nq%201\tQ0\tc%202\t3\t9\tx\n"
        "q%200 Q0 c%201 1 1 x\nother Q0 c%201 1 1 x\n",
        encoding="utf-8",
    )
    found = read_ranking(file, QUESTIONS[:2], CHUNKS, ["other"])
    assert found == [["c 1"], ["c 2", "c 0", "c 1"]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.trec", "q Q0 c%201 1 1 x", "line 1: no question q in the run"),
        ("a.trec", "q%201 Q0 c 1 1 x", "line 1: no chunk c in the run"),
        ("a.trec", "q%201 c%201 1", "line 1: not a line of a TREC run"),
        ("a.trec", "q%201 Q0 c%201 first 1 x", "line 1: not a line of a TREC run"),
        (
            "a.trec",
            "q%201 Q0 c%201 1 1 x\nq%201 Q0 c%201 2 0 x",
            "line 2: chunk c 1 is ranked twice for question q 1",
        ),
        ("a.trec", "q%201 Q0 c%201 1 nan x", "line 1: the score nan is no finite number"),
        (
            "a.trec",
            "q%201 Q0 c%201 1 1 x",
            r"a\.trec: has no ranking of 2 of 3 questions \(q 0, q 2\); a \.jsonl line with empty",
        ),
        (
            "a.jsonl",
            '{"id": "q 1", "chunk_ids": []}\n{"id": "q 1", "chunk_ids": ["c 1"]}',
            "line 2: .* ranked twice",
        ),
        ("a.jsonl", '{"id": "q 1", "chunk_ids": "c 1"}', "line 1, column chunk_ids"),
        ("a.jsonl", '{"id": "q 1", "chunk_ids": ["c 9"]}', "line 1: no chunk c 9 in the run"),
        (
            "a.jsonl",
            '{"id": "q 1", "chunk_ids": ["c 1", "c 1"]}',
            "line 1: chunk c 1 is ranked twice",
        ),
    ],
)
def test_a_malformed_ranking_is_refused_by_its_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "utf-8")
    with refuses(message):
        read_ranking(tmp_path / name, QUESTIONS, CHUNKS)
