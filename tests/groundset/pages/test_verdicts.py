"""Labels made from reviews."""

from collections import Counter
from pathlib import Path

from json_lines import read, write
from labelled import KEPT, REFUSED, questions
from model_server import serving
from pages_run import PASSAGES, review
from refusal import refuses

import groundset
from groundset import labelling
from groundset.models.open import open_model
from groundset.pages import verdicts
from groundset.pages.verdicts import LabelsFromOptions, labels_from, labels_of
from groundset.programs.step import step
from groundset.run.compiled import load_compiled

RULE = "nobody at the counter asks for a year"


def test_verdicts_become_labels(make_run):
    run = make_run(
        reviews=[
            review("s0"),
            review("s1", "refused", "vague", "incomplete", note="Which bridge?"),
            review("s2", "refused", "incomplete"),
            review("s3", "refused", "vague"),
            review("s3"),  # changed
        ]
    )
    rows = {row["question"]: row for row in labels_of(run)}
    assert all(row.pop("id").startswith("review-") for row in rows.values())
    assert rows["When does the ferry leave Tollvik?"] == {
        "document": "guide",
        "topic": "Guide g",
        "passage": PASSAGES[0].replace("*", ""),
        "question": "When does the ferry leave Tollvik?",
        "label": "good",
        "reason": "ok",
        "explanation": "",
        "origin": "scripted",
        "language": "en",
        "answer": {"text": "at nine", "label": "correct"},
    }
    vague = rows["Who built the bridge?"]
    assert vague["label"] == "bad"
    assert vague["reason"] == "vague"
    assert vague["explanation"] == "Which bridge?"
    assert "answer" not in vague
    incomplete = rows["How high is the tower?"]
    assert incomplete["label"] == "good"
    assert incomplete["answer"]["label"] == "incomplete"
    assert rows["When does the museum open?"]["label"] == "good"


def test_what_becomes_no_label(make_run):
    whole = make_run("whole").chunks
    run = make_run(
        reviews=[
            review("s0"),
            review("s0", "refused", "vague", reviewer="ben"),
            review("s1", "refused", "other"),
            review("s2"),
            review("s3"),
        ],
        changes={2: {"retrieval_gt": ()}, 3: {"contexts": (whole["c0"], whole["c3"])}},
    )
    whys = (
        "reviewers disagree",
        "refused without a reason",
        "unanswerable question",
        "passages of several documents",
    )
    assert sorted(labels_of(run)) == sorted(whys)


def test_reviewers_of_one_mind(make_run):
    reasons = (("ann", "vague"), ("ben", "malformed"), ("eve", "malformed"))
    run = make_run(
        reviews=[review("s0", "refused", reason, reviewer=name) for name, reason in reasons]
    )
    assert [row["reason"] for row in labels_of(run)] == ["malformed"]


def test_the_command(make_run, tmp_path, capsys, monkeypatch):
    given = {
        "one": [review("s0"), review("s1", "refused", "other")],
        "two": [review("s0"), review("s2", "refused", "vague")],
        "three": [],
    }
    runs = {Path(name): make_run(name, reviews=reviews) for name, reviews in given.items()}
    monkeypatch.setattr(verdicts, "open_run", runs.__getitem__)
    out = tmp_path / "labels.jsonl"
    labels_from(LabelsFromOptions(runs=(Path("one"), Path("two")), out=out))
    rows = read(out)
    assert [row["label"] for row in rows] == ["good", "bad"], (
        "one question of two runs is one label"
    )
    assert (
        capsys.readouterr().out
        == f"2 labels, 1 good; left out: refused without a reason 1: {out}\n"
    )
    with refuses("three: no label; run `groundset review` first"):
        labels_from(LabelsFromOptions(runs=(Path("three"),), out=out))


def ruled(body):
    """Judge as the demos say: once one has the rule, questions for a year are refused."""
    *before, last = body["messages"]
    asks = "Which year" in last["content"].rsplit("Question:", 1)[-1]
    return REFUSED if asks and RULE in str(before) else KEPT.format(answer="Ada Lund")


def test_thirty_verdicts_change_what_the_judge_decides(make_run, tmp_path, status_of, monkeypatch):
    is_signed = [number // 4 % 2 == 0 for number in range(30)]
    run = make_run(
        asked=[
            (f"Who worked on part {n}?" if signed else f"Which year is part {n} of?", "Ada Lund")
            for n, signed in enumerate(is_signed)
        ],
        reviews=[
            review(f"s{n}") if signed else review(f"s{n}", "refused", "other", note=RULE)
            for n, signed in enumerate(is_signed)
        ],
        paths=("castle.md", "mill.md", "ferry.md", "weir.md"),
    )
    monkeypatch.setattr(verdicts, "open_run", lambda _: run)
    monkeypatch.chdir(tmp_path)
    shipped = write(tmp_path / "shipped.jsonl", questions())
    monkeypatch.setattr(labelling, "shipped_files", lambda: [shipped])
    assert status_of("labels", "from", run.folder, "--out", "mine.jsonl") == 0
    train = groundset.step("judge", ["mine.jsonl"], rows=12).trainset
    assert Counter((row.good, row.reason == RULE) for row in train) == {
        (True, False): 6,
        (False, True): 6,
    }
    with serving(ruled) as server, open_model(server.spec) as model:
        options = "--lm", server.spec, "--labels", "mine.jsonl", "--rows", "12", "--no-track"
        assert status_of("compile", "judge", *options, "--out", "out") == 0
        decided = []
        for compiled in ("none", "out"):
            judge = step("judge")
            load_compiled(compiled, "any").apply([judge])
            judge.lm = model.lm
            asked = ("Who painted the tower?", "Which year was the tower painted?")
            decided.append(
                [judge(passage=PASSAGES[2], question=each).independent for each in asked]
            )
    assert decided == [[True, True], [True, False]]
