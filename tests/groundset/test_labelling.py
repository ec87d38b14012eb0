"""Labels as examples and tasks of DSPy, and `groundset labels check`."""

from json_lines import write
from labelled import question, questions
from refusal import refuses

import groundset
from groundset.labelling import LabelsOptions, check_labels


def test_labels_and_tasks_are_plain_objects_of_dspy(tmp_path):
    train = groundset.labels("questions", split="train")
    assert len(train) > 1500
    assert set(train[0].inputs().keys()) == {"topic", "passage", "question"}
    assert {each.split for each in groundset.labels("chunks")} == {"train", "dev", "test"}
    assert len(groundset.labels("compare")) > 1500
    own = write(tmp_path / "own.jsonl", questions(2))
    assert [each.id for each in groundset.labels(own, split="dev")] == ["q100", "q101"]
    task = groundset.step("answer", rows=5)
    assert task.name == "answer"
    assert [len(part) for part in (task.trainset, task.devset, task.testset)] == [5] * 3
    assert task.metric(task.devset[0], task.devset[0]) >= 0.5
    assert "q0" in {each.id for each in groundset.step("judge", [own]).trainset}


def test_names_that_do_not_exist(tmp_path):
    with refuses("labels nosuch: name a file, or one of chunks, company-chunks, questions"):
        groundset.labels("nosuch")
    with refuses("STEP nosuch: there is no such step or recipe; choose from chunk"):
        groundset.step("nosuch")


def test_check_names_all_problems(tmp_path, status_of, capsys):
    good = write(tmp_path / "good.jsonl", questions(2))
    check_labels(LabelsOptions(files=(good,)))
    assert capsys.readouterr().out == "6 rows in 1 file: no problems; train 2, dev 2, test 2.\n"
    bad = write(
        tmp_path / "bad.jsonl", [{**question(7, good=True, split="dev"), "label": "?"}, {"id": "x"}]
    )
    assert status_of("labels", "check", good, bad) == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        f"{bad}, line 1: label: input should be 'good' or 'bad'",
        f"{bad}, line 2: label: missing",
    ]
    assert captured.err == "groundset: error: 2 problems in 2 files; fix the rows named above\n"
