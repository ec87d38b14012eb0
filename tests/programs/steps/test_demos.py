"""Reading and validating demos."""

import json
from pathlib import Path

import dspy
import pytest

from programs.demos import in_language, read_demos
from programs.errors import DemoError

ROW = {"language": "en", "topic": "Moth", "fact": "It flies.", "answer": "flies", "question": "What does it do?"}


def write(folder: Path, *lines: str, step: str = "question") -> Path:
    (folder / f"{step}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_rows_keep_their_order(tmp_path: Path) -> None:
    german = {**ROW, "language": "de", "opening": "Was"}
    demos = read_demos(write(tmp_path, json.dumps(german), "", json.dumps(ROW)))
    assert [demo.toDict() for demo in demos["question"]] == [german, ROW]


def test_field_with_default_may_be_missing(tmp_path: Path) -> None:
    assert "opening" not in read_demos(write(tmp_path, json.dumps(ROW)))["question"][0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not valid JSON"),
        pytest.param("[" * 100_000, "not valid JSON", id="deep"),
        ('"a"', "not a JSON object"),
        (json.dumps({key: value for key, value in ROW.items() if key != "language"}), "no language"),
        (json.dumps({key: value for key, value in ROW.items() if key != "answer"}), "no answer"),
        (json.dumps({**ROW, "colour": "red"}), "its step has no field colour"),
        (json.dumps({**ROW, "fact": ["a"]}), "fact: "),
    ],
)
def test_invalid_row_error_names_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    folder = write(tmp_path, json.dumps(ROW), row)
    with pytest.raises(DemoError, match=rf"question\.jsonl, line 2: {message}"):
        read_demos(folder)


def test_list_fields_are_validated(tmp_path: Path) -> None:
    row = {"language": "en", "topic": "Moth", "passage": "It flies.", "keyphrases": "flies"}
    with pytest.raises(DemoError, match="line 1: keyphrases"):
        read_demos(write(tmp_path, json.dumps(row), step="keyphrases"))


def test_unknown_step_and_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="not a folder of demos"):
        read_demos(tmp_path / "none")
    with pytest.raises(DemoError, match="no step is called asking"):
        read_demos(write(tmp_path, json.dumps(ROW), step="asking"))


def test_in_language_falls_back_to_english() -> None:
    demos = [dspy.Example(language="en", n=1), dspy.Example(language="de", n=2), dspy.Example(n=3)]
    assert [demo.n for demo in in_language(demos, "de")] == [2, 3]
    assert [demo.n for demo in in_language(demos[:2], "fr")] == [1]
