"""Labels as examples and tasks of DSPy, and `groundset labels check`."""

from collections import Counter

from json_lines import write
from labelled import question, questions

import groundset
from groundset.labelling import LabelsOptions, check_labels


def test_labels_and_tasks_are_plain_objects_of_dspy(tmp_path):
    train = groundset.step("judge").trainset
    assert len(train) > 1500
    assert set(train[0].inputs().keys()) == {"topic", "passage", "question"}
    own = write(tmp_path / "own.jsonl", questions(2))
    task = groundset.step("answer", rows=5)
    assert task.name == "answer"
    assert [len(part) for part in (task.trainset, task.devset, task.testset)] == [5] * 3
    assert task.metric(task.devset[0], task.devset[0]) >= 0.5
    assert "q0" in {each.id for each in groundset.step("judge", [own]).trainset}


GOLD = {"step": "revise", "document": "d", "question": "Who?", "change": "shorter"}


def test_check_names_all_problems(tmp_path, status_of, capsys):
    bad = write(
        tmp_path / "bad.jsonl", [{**question(7, good=True, split="dev"), "label": "?"}, {"id": "x"}]
    )
    good = write(tmp_path / "good.jsonl", questions(2))
    assert status_of("labels", "check", good, bad) == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        f"{bad}, line 1: label: input should be 'good' or 'bad'",
        f"{bad}, line 2: label: missing",
    ]
    assert captured.err == "groundset: error: 2 problems in 2 files; fix the rows named above\n"
    same = {**GOLD, "id": "r1", "new_question": "Who?", "new_answer": "Ada"}
    unwritten = {**GOLD, "id": "r2"}
    gold = write(tmp_path / "gold.jsonl", [same, unwritten])
    assert status_of("labels", "check", gold) == 2
    shown = capsys.readouterr().out
    assert shown == "revise r1: It repeats the question without the change.\n"


def test_check_counts_the_train_rows_of_each_step(tmp_path, capsys):
    rows = [row for row in questions(30) if row["split"] == "train"]
    own = write(tmp_path / "own.jsonl", [{**row, "id": f"own-{row['id']}"} for row in rows])
    check_labels(LabelsOptions(files=(own,)))
    assert capsys.readouterr().out.splitlines() == [
        "30 rows in 1 file: no problems; train 30, dev 0, test 0.",
        "judge: 15 good and 15 bad of them among 60 train rows.",
        "answer: 15 own of them among 60 train rows.",
        "grounding: 15 good of them among 60 train rows.",
        "Without dev and test rows: rows about one document lie in one split, which `split` can"
        " set.",
    ]


def test_own_rows_of_both_kinds_come_first(tmp_path):
    rows = [question(n, good=n < 20, split="train") for n in range(60)]
    own = write(tmp_path / "own.jsonl", rows)
    train = groundset.step("judge", [own], rows=60).trainset
    assert [row.good for row in train[:4]] == [True, False, True, False]
    mine = Counter(row.good for row in train if row.id.startswith("q"))
    assert mine == {True: 20, False: 30}
    assert all(row.good or row.reason == "so it is" for row in train if row.id.startswith("q"))
