"""`groundset roundtrip --against`: does a set rank retrievers as the user's own questions do?"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from evaluation_sets import chunk, cut, document, sample
from json_lines import write
from refusal import refuses
from searched_run import compared

from groundset.retrieval.gold import GoldSpan, gold_spans, holders

DOCUMENTS = [document(f"d{number}", 3) for number in range(8)]
CHUNKS = [part for each in DOCUMENTS for part in cut(each)]
pytestmark = pytest.mark.usefixtures("parquet_in_this_process")


@pytest.fixture
def save(make_run) -> Callable[..., Path]:
    """Save a run with a question about each chunk, in words that no chunk has."""

    def make(name, chunks=CHUNKS, documents=DOCUMENTS):
        asked = [
            sample(f"{name}-{each.chunk_id}", each, question=f"Why {name} {number}?")
            for number, each in enumerate(chunks)
        ]
        whole = [part for each in documents for part in cut(each)]
        return make_run(asked, whole, name=name, documents=documents)

    return make


def ranking(file, of_set, of_own, own_id):
    """Write a ranking that finds all questions of a side first, or none."""
    rows = [
        {"id": name.format(number, each.chunk_id), "chunk_ids": [each.chunk_id] * found}
        for number, each in enumerate(CHUNKS)
        for name, found in (("set-{1}", of_set), (own_id, of_own))
    ]
    return ["--ranking", write(file, rows)]


def test_a_set_that_ranks_as_users_do(save, tmp_path, status_of, capsys):
    own = tmp_path / "own.csv"
    rows = [f"Where {number}?,{each.chunk_id}\n" for number, each in enumerate(CHUNKS)]
    own.write_text("question,chunk_id\n" + "".join(rows), "utf-8")
    good = ranking(tmp_path / "good.jsonl", True, True, "Where {0}?")
    bad = ranking(tmp_path / "bad.jsonl", False, False, "Where {0}?")
    assert status_of("roundtrip", save("set"), "--against", own, *good, *bad, "--json") == 0
    found = json.loads(capsys.readouterr().out)["agreement"]
    figures = found["figures"]
    assert (len(found["methods"]), found["pairs"]) == (5 + 2 * 3, 10 + 2 * 3)
    assert found["told_apart"] >= 4
    assert figures["questions"] == [24, 24]
    assert figures["tau"][0][0] > 0.8
    assert figures["order_right"] == figures["told_rightly"] == [1, 1]
    assert figures["told_wrongly"] == [0, 0]
    assert figures["best"] == [str(good[1])] * 2
    assert figures["loss_of_choosing"][0] == 0
    assert figures["words"] == [[3, 3, 3], [2, 2, 2]]
    assert figures["shared_words"][0][0] < 0.5


def test_a_set_that_ranks_the_other_way(save, tmp_path, status_of, capsys):
    mine = ranking(tmp_path / "mine.jsonl", True, False, "own-{1}")
    yours = ranking(tmp_path / "yours.jsonl", False, True, "own-{1}")
    options = ["--against", save("own"), *mine, *yours, "--measure", "MRR"]
    assert status_of("roundtrip", save("set"), *options) == 0
    printed = capsys.readouterr().out
    lines = {line.split("  ")[0]: line.split() for line in printed.splitlines()}
    assert lines["best"][1:] == [str(mine[1]), str(yours[1])]
    assert lines["loss of choosing"][-2:] == ["1.00", "0.00"]
    assert float(lines["told wrongly"][-2]) > 0
    assert float(lines["order right"][-2]) < 0.5
    assert "Of 16 pairs of 11 methods the own questions tell " in printed


def test_too_few_own_questions(save, status_of, capsys):
    run = save("set")
    assert status_of("roundtrip", run, "--against", save("own", CHUNKS[:5])) == 0
    assert "5 own questions are too few to tell; take 20 or more." in capsys.readouterr().out
    with refuses("few: only 3 questions with known chunks; take 20"):
        compared(run=run, against=save("few", CHUNKS[:3]))
    others = [document("e", 3)]
    with refuses(r"others: e.md differs in RUN"):
        compared(run=run, against=save("others", cut(others[0]), others))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "Why?"}', "line 1: column question or query is missing"),
        ('{"query": "Why?", "chunk_id": "c9"}', "line 1, column chunk_id: no chunk c9 in "),
        ('{"query": " "}', "--against .*: give 1 to 10,000 different questions, not 0"),
    ],
)
def test_wrong_own_questions(save, tmp_path, text, message):
    file = write(tmp_path / "own.jsonl", [text])
    with refuses(message):
        compared(run=save("set"), against=file)


def test_gold_is_found_in_chunks_of_another_size():
    text = "The gate opens at seven. Visitors pay\n**four** crowns. Dogs stay outside the walls."
    whole = chunk("whole", text)
    asked = sample("q", whole, metadata={"evidence": "Visitors pay four crowns"})
    [[[place]]] = gold_spans(asked, {"whole": whole})
    assert text[place.start : place.end] == "Visitors pay\n**four** crowns"
    parts = [
        chunk("before", text[:30]),
        chunk("after", text[30:], start=30, end=len(text)),
        chunk("copy", text[:30], doc_id="other"),
    ]
    chunks = {part.chunk_id: part for part in parts}
    assert holders([[[[place]]]], chunks) == [[("after",)]]
    assert holders([[[[GoldSpan("d", 0, 20)]]]], chunks) == [[("before", "copy")]]
