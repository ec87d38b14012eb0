"""Reading labels and gold rows, and what is wrong with them."""

import json
from pathlib import Path

import pytest
from labelled import PASSAGE, question, write
from refusal import refuses

from groundset.labelling import with_own
from groundset.optimizers.labels import SPLITS, checked, read_rows, split_of
from groundset.programs.errors import LabelError

GOOD = question(1, good=True, split="train")
ANSWER = {
    **{"step": "answer", "id": "a1", "document": "d", "topic": "The weir"},
    **{"passage": PASSAGE, "question": "Who built it?", "answer": "Jonas Alder"},
}
COMPARED = {"step": "compare", "id": "c1", "document": "d", "claim": "the same is asked"}


def problem(tmp_path: Path, *rows) -> str:
    """Return the only problem of rows, without its file."""
    _, (line,) = checked([write(tmp_path / "rows.jsonl", list(rows))])
    return line.removeprefix(f"{tmp_path / 'rows.jsonl'}, ")


def test_shipped_rows_are_right_and_each_document_lies_in_one_split():
    rows = read_rows(with_own([]))
    assert len(rows) > 20_000
    splits = {}
    for row in rows:
        for source in row.sources:
            splits.setdefault(source, set()).add(str(row.split))
    assert {len(found) for found in splits.values()} == {1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**GOOD, "reasn": "ok"}, "reasn: unknown key"),
        ({**GOOD, "reason": "dull"}, "reason dull: choose one of ok, context_ref"),
        ({**GOOD, "label": "bad"}, "label bad conflicts with reason ok"),
        ({name: GOOD[name] for name in GOOD if name != "document"}, "document: name the document"),
        ({**ANSWER, "step": "translate"}, "step translate: choose one of score, keyphrases"),
        ({**ANSWER, "claim": "so"}, "claim: unknown key"),
        ({**COMPARED, "first": "Who?", "second": "When?"}, "holds: missing"),
        ([1], "not a JSON object"),
    ],
)
def test_wrong_rows_are_named(tmp_path, row, message):
    assert problem(tmp_path, row).startswith(f"line 1: {message}")


def test_all_problems_of_all_files_are_found_and_the_first_is_raised(tmp_path):
    one = write(tmp_path / "one.jsonl", [GOOD, {**GOOD, "label": "?"}])
    two = tmp_path / "two.jsonl"
    two.write_text(f"{json.dumps(GOOD)}\n{{\n", "utf-8")
    empty = write(tmp_path / "empty.jsonl", [])
    rows, problems = checked([one, two, empty])
    assert [row.id for row in rows] == ["q1"]
    assert [line.removeprefix(str(tmp_path)) for line in problems] == [
        "/one.jsonl, line 2: label: input should be 'good' or 'bad'",
        f"/two.jsonl, line 1: id q1 is already used in {one}, line 1",
        (
            "/two.jsonl, line 2: not JSON (Expecting property name enclosed in double quotes: line"
            " 1 column 2 (char 1))"
        ),
        "/empty.jsonl: no rows",
    ]
    with refuses(r"line 2: label: .*; `groundset labels check` lists all 4 problems", LabelError):
        read_rows([one, two, empty])
    with refuses(r"gone\.jsonl: No such file", LabelError):
        read_rows([tmp_path / "gone.jsonl"])


def test_rows_without_a_split_follow_their_document(tmp_path):
    bare = {name: value for name, value in GOOD.items() if name != "split"}
    rows = [
        {**bare, "id": "q2", "document": "train-1"},
        {**bare, "id": "q3", "document": "other"},
        GOOD,
    ]
    found = {row.id: row.split for row in read_rows([write(tmp_path / "rows.jsonl", rows)])}
    assert found == {"q1": "train", "q2": "train", "q3": split_of("other")}
    shares = [
        sum(split_of(f"document {number}") == split for number in range(500)) / 500
        for split in SPLITS
    ]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.06)
    two = problem(tmp_path, GOOD, {**GOOD, "id": "q2", "split": "test"})
    assert two == "line 2: document train-1 is in two splits: train and test"
