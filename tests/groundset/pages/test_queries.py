"""`groundset report --queries`: the questions of a run beside those that users ask."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pages_run import ASKED, PASSAGES
from refusal import refuses

from groundset.pages.queries import beside_queries
from groundset.pages.report import ReportOptions, report
from groundset.retrieval import embed
from groundset.run.run import Run

MANY = [
    (f"{question[:-1]} in {year}?", answer)
    for year in range(1950, 1956)
    for question, answer in ASKED
]
Figures = dict[str, Any]


@pytest.fixture
def make_set(make_run, word_encoder, monkeypatch) -> Callable[..., Run]:
    """Make a run that can be searched."""
    encoder = word_encoder("f" * 64)  # as the record of the run says
    monkeypatch.setattr(embed, "open_embedder", lambda name: encoder)

    def make(name: str = "run", **fields) -> Run:
        run = make_run(name, **fields)
        np.save(run.folder / "vectors.npy", encoder.encode(PASSAGES).astype(np.float32))
        return run

    return make


def measure(found: Figures, name: str) -> tuple[Any, Any]:
    row = next(row for row in found["measures"] if row["measure"] == name)
    return row["set"], row["queries"]


def test_queries_with_gold_are_compared_by_their_ranks(make_set, tmp_path):
    file = tmp_path / "log.csv"
    rows = [f"FERRY {n} TOLLVIK NINE,c0\nWHO WAS ADA LUND {n},c1\n" for n in range(12)]
    file.write_text("query,chunk_id\n" + "".join(rows) + ",\n", "utf-8")
    found = beside_queries(make_set(asked=MANY), file)
    assert found["questions"] == [24, 24]
    assert found["told_apart"].low > 0.8
    assert [words.value for words in measure(found, "words (median, quartiles)")] == [7, 4.5]
    assert [start.value for start in measure(found, "first word ferry")] == [0, 0.5]
    _, copied = measure(found, "content words copied from the gold passage")
    assert copied.value == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert measure(found, "MRR of bm25")[1].value == 1
    assert found["conclusions"][0].startswith(
        "How well a classifier tells questions and queries apart: AUC 1.00 (0."
    )
    assert found["conclusions"][1].startswith("By MRR the questions have the order ")


def test_the_same_questions_cannot_be_told_apart(make_set):
    found = beside_queries(make_set(asked=MANY), make_set("other", asked=MANY).folder)
    assert found["told_apart"].value < 0.5
    assert all(
        ours == theirs
        for ours, theirs in ((row["set"], row["queries"]) for row in found["measures"])
    )


def test_report_beside_queries(make_set, tmp_path, capsys):
    file = tmp_path / "queries.txt"
    file.write_text("tower height\n\ntower height\n<b>museum</b> open?\n", "utf-8")
    page = report(ReportOptions(run=make_set().folder, queries=file))
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == ["questions", "queries"]
    assert "apart: too few, under 20." in printed
    assert "Without gold passages on both sides it is unknown which retriever is better" in printed
    assert "first word tower" in printed
    assert page is not None
    text = page.read_text("utf-8")
    assert '<section id="queries">' in text
    assert "4 questions of the run beside 2 of " in text
    assert report(ReportOptions(run=page.parent, queries=file, as_json=True)) is None
    assert json.loads(capsys.readouterr().out)["queries"]["questions"] == [4, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "Why?"}', "line 1: column question or query is missing"),
        ('{"query": "Why?", "chunk_id": "c9"}', "line 1, column chunk_id: no chunk c9 in "),
        ('{"query": " "}', "--queries .*: give 1 to 10,000 different queries, not 0"),
    ],
)
def test_wrong_queries(make_set, tmp_path, text, message):
    file = tmp_path / "queries.jsonl"
    file.write_text(text, "utf-8")
    with refuses(message):
        beside_queries(make_set(), file)
