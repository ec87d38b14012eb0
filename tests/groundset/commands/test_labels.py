"""`groundset labels`: what it counts, and what it names."""

import json

from read_run import make_run, say

from groundset.data_files import data_path

ROW = {
    "id": "c1",
    "document": "tide-mill",
    "text": "The tide mill of Orsle was built in 1712.",
    "label": "good",
    "reason": "ok",
    "split": "train",
}
BAD = {**ROW, "id": "c2", "label": "bad", "reason": "citation", "text": "1. Kolb, M. (1931)."}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_check_lists_all_problems_with_status_2(run, tmp_path):
    ran = run("labels", "check", write(tmp_path / "a.jsonl", ROW, BAD))
    assert (ran.status, ran.out) == (0, "2 rows in 1 file: no problems.\n")
    wrong = ({**BAD, "reason": "ok"}, {**ROW, "split": "dev", "id": "c3"}, {**BAD, "reasn": "citation"})
    file = write(tmp_path / "a.jsonl", ROW, *wrong)
    ran = run("labels", "check", file)
    assert ran.status == 2
    assert ran.out.splitlines() == [
        f"{file}, line 2: label bad conflicts with reason ok",
        f"{file}, line 3: document tide-mill is in two splits: train and dev",
        f"{file}, line 4: reasn: unknown key",
    ]
    assert "3 problems in 1 file" in ran.err
    for unreadable in (tmp_path / "none.jsonl", file):
        assert run("labels", "stats", unreadable).status == 2


def test_stats_show_agreement_of_two_passes(run, tmp_path):
    first = write(tmp_path / "a.jsonl", ROW, BAD)
    again = write(tmp_path / "b.jsonl", {**ROW, "annotation_pass": 2}, {**BAD, "annotation_pass": 2})
    ran = run("labels", "stats", first, again)
    assert ran.status == 0
    assert ran.out.startswith("2 labels of 1 documents.\n")
    assert "citation  1      0    0     1" in ran.out
    assert "2 rows were labelled twice: Cohen's kappa 1.00 for good or bad, 1.00 for reasons." in ran.out
    assert "No row was labelled twice." in run("labels", "stats", first).out


GOLD = {
    "step": "compress",
    "id": "g1",
    "document": "tide-mill",
    "chunk": "tide-mill-00",
    "language": "en",
    "split": "train",
    "question": "In which year was it that the tide mill that stands at Orsle was built?",
    "short_question": "When was the tide mill of Orsle built?",
}


def test_gold_rows_are_checked_and_counted_beside_labels(run, tmp_path):
    labels = write(tmp_path / "a.jsonl", ROW, BAD)
    again = {**GOLD, "step": "split", "id": "g2", "documents": ["tide-mill"], "chunks": ["tide-mill-00"]}
    again["questions"] = ["Who built the tide mill of Orsle?", GOLD.get("short_question")]
    again = {key: value for key, value in again.items() if key not in ("document", "chunk", "short_question")}
    gold = write(tmp_path / "g.jsonl", GOLD, again)
    assert run("labels", "check", labels, gold).out == "4 rows in 2 files: no problems.\n"
    counted = run("labels", "stats", labels, gold).out
    assert "\n\n1 gold rows of 1 documents for step compress.\n\nlanguage  train" in counted
    assert counted.index("2 labels") < counted.index("step compress") < counted.index("step split")
    leak = run("labels", "check", labels, write(tmp_path / "g.jsonl", {**GOLD, "split": "test"}))
    assert (leak.status, "is in two splits: train and test" in leak.out) == (2, True)


def test_gold_rows_alone_are_counted_by_kind(run, tmp_path):
    row = {**GOLD, "step": "answer", "topic": "", "passage": ROW["text"], "answer": "1712", "kind": "words"}
    del row["short_question"]
    counted = run("labels", "stats", write(tmp_path / "g.jsonl", row)).out
    assert counted.startswith("1 gold rows of 1 documents for step answer.\n\nkind   train  dev  test  all\nwords  1")


def test_json_is_one_document(run, tmp_path):
    first = write(tmp_path / "a.jsonl", ROW, BAD)
    question = {**ROW, "id": "q1", "question": "When?", "passage": ROW["text"], "language": "de"}
    question["answer"] = {"text": "1712", "label": "correct"}
    del question["text"]
    second = write(tmp_path / "b.jsonl", question, {**ROW, "annotation_pass": 2})
    ran = run("labels", "stats", first, second, write(tmp_path / "g.jsonl", GOLD), "--json")
    one, none = {"train": 1, "dev": 0, "test": 0, "all": 1}, {}
    two = {name: 2 * count for name, count in one.items()}
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out) == {
        "labels": {
            "rows": 3,
            "documents": 1,
            "reasons": {"ok": two, "citation": one},
            "languages": {"en": two, "de": one},
            "origins": {"written": one},
            "answers": {"correct": 1},
            "agreement": {"rows": 1, "verdicts": None, "reasons": None},
        },
        "gold": {"compress": {"rows": 1, "documents": 1, "kinds": {"": one}, "languages": {"en": one}}},
    }
    output = run("labels", "stats", first, second).out
    assert "1 rows were labelled twice: Cohen's kappa undefined for good or bad" in output
    alone = json.loads(run("labels", "stats", tmp_path / "g.jsonl", "--json").out)
    assert (alone["labels"], list(alone["gold"])) == (None, ["compress"])
    without = json.loads(run("labels", "stats", first, "--json").out)
    assert (without["labels"]["agreement"], without["gold"]) == (None, none)


def test_sixty_columns_are_enough(run_narrow):
    files = sorted(data_path("labels").glob("questions*.jsonl"))
    lines = run_narrow("labels", "stats", *files)
    assert "reason             train  dev  test  all" in lines
    assert lines[-2].endswith("for good or")
    assert lines[-1].startswith("bad, ")


def test_labels_from_reviews_are_valid(run, tmp_path):
    folder, out = make_run(tmp_path / "run"), tmp_path / "mine.jsonl"
    say(folder, "q-ferry", "good")
    say(folder, "q-mill", "bad", "vague")
    say(folder, "1", "bad", "citation")
    say(folder, "2", "bad")
    ran = run("labels", "from", folder, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        f"3 labels of 3 documents: 1 good, 2 bad; 1 train, 2 dev, 0 test. Labels: {out}.\n"
        "Skipped: rejected without a reason (1).\n"
    )
    shipped = sorted(data_path("labels").glob("*s.jsonl"))
    assert run("labels", "check", *shipped, out).status == 0
    assert [json.loads(line)["reason"] for line in out.read_text(encoding="utf-8").splitlines()] == [
        "ok",
        "vague",
        "citation",
    ]
    ran = run("labels", "from", folder, "--out", "-")
    assert ran.out == out.read_text(encoding="utf-8")
    assert ran.err.startswith("3 labels of 3 documents")


def test_labels_from_without_labels_writes_no_file(run, tmp_path):
    folder, out = make_run(tmp_path / "run"), tmp_path / "mine.jsonl"
    ran = run("labels", "from", folder, "--out", out)
    assert (ran.status, ran.out, "no reviews yet" in ran.err) == (2, "", True)
    say(folder, "q-mill", "bad")
    ran = run("labels", "from", folder, "--out", out)
    assert (ran.status, "rejected without a reason (1)" in ran.err) == (2, True)
    assert run("labels", "from", tmp_path, "--out", out).status == 2
    say(folder, "q-ferry", "good")
    assert run("labels", "from", folder, "--out", tmp_path / "mine.csv").status == 2
    (folder / "samples.jsonl").touch()
    ran = run("labels", "from", folder, "--out", folder / "samples.jsonl")
    assert (ran.status, "is an input; name another file" in ran.err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert "No label is in the split train" in run("labels", "from", folder, "--out", out).out
