"""`groundset roundtrip`: measures, tests and what is printed."""

import json
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from evaluation_sets import chunk, sample
from json_lines import read, write
from refusal import refuses
from searched_run import CHUNKS, WORDS, about_words, compared, ranked, round_trip

from groundset.retrieval import embed
from groundset.searching import MEASURES


def measures(*ranks):
    return {name: pytest.approx(measure(ranks), abs=1e-4) for name, measure in MEASURES.items()}


def test_measures_of_groups():
    assert measures(1) == dict.fromkeys(MEASURES, 1.0)
    assert measures(None) == dict.fromkeys(MEASURES, 0.0)
    assert measures(2, 7) == {
        "recall@1": 0,
        "recall@5": 0.5,
        "recall@10": 1,
        "MRR": 0.5,
        "nDCG@10": 0.5913,
    }
    assert measures(1, None)["MRR"] == 1
    assert measures(1, 1)["nDCG@10"] == 1, "one chunk may serve two groups"


def test_rankings_of_other_systems_are_compared(make_run, tmp_path):
    best, worst = ranked(tmp_path / "best.jsonl", lambda n: 1), tmp_path / "worst.trec"
    worst.write_text("".join(f"q{n} Q0 d{5 - n // 15}-0 1 1 t\n" for n in range(16)))
    run, rankings = make_run(about_words()), (best, worst)
    found = compared(run=run, retriever="bm25,hybrid,bm25", ranking=rankings)
    assert [result.retriever for result in found.results] == [
        "dense",
        "bm25",
        "hybrid",
        str(best),
        str(worst),
    ]
    assert [result.estimates["recall@1"].value for result in found.results] == [1, 1, 1, 1, 0]
    against = next(
        each for each in found.differences if each.worse == str(worst) and each.better == str(best)
    )
    assert against.is_significant
    assert against.gain.value == 1
    lines = found.conclusions()
    assert any(line.startswith(f"dense is better than {worst}: nDCG@10 +1.00") for line in lines)
    assert lines[-1] == "No other significant differences with n=16."


def test_any_chunk_of_a_group_serves_and_every_group_counts(make_run):
    either, both = (("d3-0", "d0-0"),), (("d0-1",), ("d0-2",))
    asked = [
        sample("q0", CHUNKS[0], question="amber", retrieval_gt=either),
        sample("q1", CHUNKS[1], question="birch cedar", retrieval_gt=both),
        sample("q2", CHUNKS[3], question="delta", retrieval_gt=()),
    ]
    found = compared(run=make_run(asked))
    assert found.results[0].ranks[0][0] == 1
    assert sorted(rank or 99 for rank in found.results[0].ranks[1]) == [1, 2]
    assert [row["rank"] for row in found.rows()] == [1, 2]
    assert "Questions that no chunk answers are left out: 1." in found.notes


def test_two_retrievers_on_one_question(make_run):
    found = compared(run=make_run(about_words()[:1]), retriever="bm25")
    assert found.conclusions() == ["No significant differences with n=1."]
    assert {each.p for each in found.differences} == {1.0}


def test_command(make_run, tmp_path, capsys):
    run = make_run(about_words(), max_rank=5)
    out = tmp_path / "rows.jsonl"
    round_trip(run=run, retriever="dense, bm25", out=out)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["retriever", "recall@1", "recall@5", "recall@10", "MRR", "nDCG@10"]
    assert lines[1].startswith("dense      1.00 (")
    assert lines[-3] == (
        "16 questions are found first and 0 not at all, whatever the retriever; nDCG@10 from 1.00"
        " to 1.00. n=16 shows differences between two searches from about 28 points on; 5 points"
        " take about 491 questions."
    )
    assert lines[-2] == "16 questions about 6 documents; ranks beyond 50 count as not found."
    assert lines[-1].startswith("dense has an advantage: ")
    rows = read(out)
    assert [(row["retriever"], row["rank"]) for row in (rows[0], rows[16])] == [
        ("dense", 1),
        ("bm25", 1),
    ]
    assert rows[0]["retrieved_content"] == "amber stone path"

    round_trip(run=run, retriever="bm25", as_json=True, quiet=True)
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert printed.err == ""
    assert record["retrievers"][1]["MRR"][0] == 1
    assert len(record["differences"]) == 1
    assert {"questions", "chunks", "conclusions", "notes"} <= record.keys()
    assert (record["found_first_by_all"], record["sight"]["questions"]) == (16, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retriever": "magic"}, "--retriever magic: choose from dense, bm25, hybrid, or name"),
        ({"retriever": "no_such:search"}, "no_such:search: cannot be imported .No module named"),
        ({"retriever": "builtins:len"}, "builtins:len: TypeError: .int. object is not iterable"),
        ({"retriever": "builtins:str.encode"}, "str.encode: must return a list of chunk ids or of"),
        ({"out": Path("/")}, r"cannot write /: it is a folder"),
        ({"ranking": (Path("none.trec"),)}, "none.trec: No such file"),
    ],
)
def test_wrong_options(make_run, options, message):
    with refuses(message):
        compared(run=make_run(about_words()), **options)


def test_runs_that_cannot_be_searched(make_run, word_encoder, monkeypatch):
    run = make_run([sample("q0", CHUNKS[0], retrieval_gt=())])
    with refuses("no question that a chunk answers"):
        compared(run=run)
    shutil.rmtree(run)
    run = make_run(about_words())
    monkeypatch.setattr(embed, "open_embedder", lambda name: word_encoder("1" * 64))
    with refuses("words: its weights differ"):
        compared(run=run)


LINES = "The north gate opens at seven. Visitors pay four crowns. Dogs stay outside the walls."


WHOLE, COPY = (0, 85, "d0"), (0, 85, "d1")


@pytest.mark.parametrize(
    ("places", "groups", "ranking", "expected"),
    [
        ({"a": WHOLE, "b": COPY}, "a", "ba", 1.0),
        ({"a": WHOLE, "b": (0, 30, "d0")}, "a", "b", 0.0),
        # Both overlapping chunks hold the evidence, the second sentence; the last one does not.
        ({"a": (0, 56, "d0"), "b": (31, 85, "d0")}, "a", "ba", 1.0),
        ({"a": (0, 56, "d0"), "b": (45, 85, "d0")}, "a", "b", 0.0),
        # Copies in two groups are needed once.
        ({"a": WHOLE, "b": COPY}, "ab", "ab", 1.0),
        ({"a": (0, 30, "d0"), "b": (31, 85, "d0")}, "ab", "a", 0.5),
    ],
    ids=["copy", "part", "overlap", "overlap without", "groups of copies", "two groups"],
)
def test_copies_and_overlaps_neither_lift_nor_halve_recall(
    make_run, tmp_path, places, groups, ranking, expected
):
    chunks = [
        chunk(name, LINES[start:end], doc_id=document, start=start, end=end)
        for name, (start, end, document) in places.items()
    ]
    about = {
        "retrieval_gt": tuple((name,) for name in groups),
        "metadata": {"evidence": ["Visitors pay four crowns."]},
    }
    file = write(tmp_path / "own.jsonl", [{"id": "q0", "chunk_ids": [*ranking]}])
    run = make_run([sample("q0", chunks[0], **about)], chunks)
    found = compared(run=run, ranking=(file,)).results[-1]
    for measure in ("recall@1", "recall@5", "recall@10"):
        assert found.values[measure] == expected


OWN = """
WORDS = {words}


def find(question):
    return ["d5-0", "d0-0"] if "amber" in question else ["d5-0"]


def ids(question):
    place = WORDS.index(question.split()[-1])
    return [f"d{{place // 3}}-{{place % 3}}"]


def texts(question):
    text = f"<b>Path</b> and {{question.split()[-1]}}  stone path"
    return ["Something else.", text, text]


def stale(question):
    return ["d9"]


def mixed(question):
    return ["d0-0", "gone"]


def down(question):
    raise ConnectionError("refused")
"""


def test_own_systems_take_part(make_run, tmp_path, monkeypatch, capsys, status_of):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    Path("own_search.py").write_text(OWN.format(words=WORDS))
    run, rows = make_run(about_words()), tmp_path / "rows.jsonl"
    names = "own_search:find, own_search:texts, own_search:ids"
    assert status_of("roundtrip", run, "--retriever", names, "--json", "--out", rows) == 0
    found = {each["retriever"]: each for each in json.loads(capsys.readouterr().out)["retrievers"]}
    assert found["own_search:find"]["MRR"][0] == pytest.approx(1.5 / 16)
    assert found["own_search:texts"]["MRR"][0] == 0.5
    assert found["own_search:texts"]["recall@10"][0] == 1
    assert found["own_search:ids"]["recall@1"][0] == 1
    first = read(rows)[32]
    assert (first["retrieved_id"], first["retrieved_content"]) == ("", "Something else.")

    assert round_trip(run=run, retriever="own_search:find", baseline=rows) == 4
    for name, message in [
        ("stale", "nothing that it found is the id of a chunk of the run, or holds"),
        ("mixed", "no chunk gone in the run"),
        ("down", "ConnectionError: refused"),
    ]:
        with refuses(f"--retriever own_search:{name}: .*{message}"):
            compared(run=run, retriever=f"own_search:{name}")


def test_a_server_takes_part(make_run):
    class Search(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            place = WORDS.index(asked["question"].split()[-1])
            self.send_response(503 if self.path == "/down" else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"ids": [f"d{place // 3}-{place % 3}"]}).encode())

        def log_message(self, *arguments):
            """Say nothing."""

    run = make_run(about_words())
    with ThreadingHTTPServer(("127.0.0.1", 0), Search) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        found = compared(run=run, retriever=f"{address}/search")
        with refuses(f"--retriever {address}/down: .*503"):
            compared(run=run, retriever=f"{address}/down")
        server.shutdown()
    assert found.results[-1].values["recall@1"].mean() == 1
