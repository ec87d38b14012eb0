"""`groundset labels`: what it counts, and what it names."""

import json

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


def test_right_files_are_said_to_be_right(run, tmp_path):
    ran = run("labels", "check", write(tmp_path / "a.jsonl", ROW, BAD))
    assert (ran.status, ran.out) == (0, "2 labels in 1 files: nothing wrong.\n")


def test_every_problem_is_named_and_the_status_is_2(run, tmp_path):
    file = write(tmp_path / "a.jsonl", ROW, {**BAD, "reason": "ok"}, {**ROW, "split": "dev", "id": "c3"})
    ran = run("labels", "check", file)
    assert ran.status == 2
    assert ran.out.splitlines() == [
        f"{file}, line 2: label bad does not go with reason ok",
        f"{file}, line 3: document tide-mill is in two splits: train and dev",
    ]
    assert "2 problems in 1 label files" in ran.err
    assert run("labels", "stats", tmp_path / "none.jsonl").status == 2


def test_stats_count_and_tell_the_agreement_of_two_passes(run, tmp_path):
    first = write(tmp_path / "a.jsonl", ROW, BAD)
    again = write(tmp_path / "b.jsonl", {**ROW, "annotation_pass": 2}, {**BAD, "annotation_pass": 2})
    ran = run("labels", "stats", first, again)
    assert ran.status == 0
    assert ran.out.startswith("2 labels of 1 documents.\n")
    assert "citation  1      0    0     1" in ran.out
    assert "2 rows were labelled twice: Cohen's kappa 1.00 for good or bad, 1.00 for reasons." in ran.out
    assert "No row was labelled twice." in run("labels", "stats", first).out
