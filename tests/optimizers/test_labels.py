"""Reading and validating labels, and their splits."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimizers.gold import check
from optimizers.labels import ChunkLabel, QuestionLabel, read_labels, refuse_test_rows, split_of
from programs.errors import LabelError, LeakError

CHUNK = {
    "id": "c1",
    "document": "tide-mill",
    "text": "The tide mill of Orsle was built in 1712.",
    "label": "good",
    "reason": "ok",
    "explanation": "Names the mill and a year.",
    "split": "train",
}
QUESTION = {
    "id": "q1",
    "document": "tide-mill",
    "question": "When was the tide mill of Orsle built?",
    "passage": CHUNK["text"],
    "label": "good",
    "reason": "ok",
    "answer": {"text": "1712", "label": "correct"},
    "split": "dev",
}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_too_long_line_and_device_are_rejected(tmp_path: Path) -> None:
    endless = tmp_path / "endless.jsonl"
    endless.write_bytes(b" " * ((8 << 20) + 1))
    with pytest.raises(LabelError, match=r"endless\.jsonl, line 1: longer than 8 MB"):
        read_labels(ChunkLabel, [endless])
    with pytest.raises(LabelError, match="/dev/zero is a pipe or a device"):
        read_labels(ChunkLabel, [Path("/dev/zero")])


def test_read_labels(tmp_path: Path) -> None:
    file = write(tmp_path / "both.jsonl", CHUNK, {**QUESTION, "split": "train"})
    [chunk], [question] = read_labels(ChunkLabel, [file]), read_labels(QuestionLabel, [file])
    assert (chunk.id, chunk.good, chunk.reason, chunk.split) == ("c1", True, "ok", "train")
    assert (question.id, question.answer and question.answer.label) == ("q1", "correct")


@pytest.mark.parametrize(
    ("change", "problem_part"),
    [
        ({"reason": "citation"}, "label good conflicts with reason citation"),
        ({"label": "bad"}, "label bad conflicts with reason ok"),
        ({"label": "fine"}, "label: "),
        ({"reason": "dull"}, "reason: "),
        ({"text": ""}, "text: "),
        ({"split": "holdout"}, "split: "),
        ({"id": None}, "id: "),
        ({"splitt": "dev"}, "splitt: "),
        ({"answer": {"text": "1712", "label": "correct"}}, "answer: "),
    ],
)
def test_invalid_row_is_named_with_line(tmp_path: Path, change: dict[str, Any], problem_part: str) -> None:
    file = write(tmp_path / "c.jsonl", CHUNK, {**CHUNK, "id": "c2", **change})
    [problem] = check([file])
    assert str(problem).startswith(f"{file}, line 2: {problem_part}")
    with pytest.raises(LabelError, match="line 2"):
        read_labels(ChunkLabel, [file])


def test_unknown_key_of_answer_is_named(tmp_path: Path) -> None:
    answer = {"text": "1712", "label": "correct", "note": "x"}
    [problem] = check([write(tmp_path / "q.jsonl", {**QUESTION, "answer": answer})])
    assert problem.message.startswith("answer.note: ")


def test_repeated_ids_and_documents_in_two_splits(tmp_path: Path) -> None:
    other = {**CHUNK, "id": "c2", "split": "test"}
    problems = check([write(tmp_path / "a.jsonl", CHUNK, CHUNK), write(tmp_path / "b.jsonl", other)])
    assert [problem.message for problem in problems] == [
        "id c1 is already used in a.jsonl, line 1",
        "document tide-mill is in two splits: train and test",
    ]


def test_malformed_and_empty_files(tmp_path: Path) -> None:
    broken, empty = tmp_path / "broken.jsonl", tmp_path / "empty.jsonl"
    broken.write_bytes(b'{"id": \n[1]\n')
    empty.write_bytes(b"\n")
    assert [str(problem) for problem in check([broken, empty])] == [
        f"{broken}, line 1: not valid JSON in UTF-8",
        f"{broken}, line 2: not a JSON object",
        f"{empty}: no rows",
    ]
    with pytest.raises(LabelError, match="No such file"):
        check([tmp_path / "none.jsonl"])


def test_first_annotation_pass_is_read(tmp_path: Path) -> None:
    second = {**CHUNK, "annotation_pass": 2, "label": "bad", "reason": "too_thin"}
    [label] = read_labels(ChunkLabel, [write(tmp_path / "c.jsonl", second, CHUNK)])
    assert label.reason == "ok"


def test_missing_split_depends_on_document(tmp_path: Path) -> None:
    rows = [{**CHUNK, "id": f"c{n}", "document": f"d{n // 2}", "split": None} for n in range(400)]
    labels = read_labels(ChunkLabel, [write(tmp_path / "c.jsonl", *rows)])
    assert all(label.split == split_of(label.document) for label in labels)
    shares = [sum(label.split == split for label in labels) / 400 for split in ("train", "dev", "test")]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.08)


def test_refuse_test_rows(tmp_path: Path) -> None:
    labels = read_labels(
        QuestionLabel,
        [write(tmp_path / "q.jsonl", QUESTION, {**QUESTION, "id": "q2", "document": "x", "split": "test"})],
    )
    refuse_test_rows(labels[:1])
    with pytest.raises(LeakError, match="label q2"):
        refuse_test_rows(labels)
