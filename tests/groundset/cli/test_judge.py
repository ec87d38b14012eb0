import json
from contextlib import contextmanager

import pytest

from groundset.cli import judge as command

ROWS = [
    {"id": 1, "text": "The ferry leaves Tollvik at nine.", "tags": ["a", {"b": None}], "weight": 0.25},
    {"text": "schlecht\u2028 “bad” 🛶", "verdict": "unsure", "id": "x"},
]


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the critics: whatever holds "bad" is bad; the list tells what was opened and asked."""
    seen = []

    @contextmanager
    def open_judge(kind, critic, lm, embedder, compiled):
        seen.append((kind, critic, lm, embedder, compiled))

        def decide(rows):
            seen.append(len(rows))
            return [(0.125, False) if "bad" in json.dumps(row) else (0.9, True) for row in rows]

        yield decide

    monkeypatch.setattr(command, "open_judge", open_judge)
    return seen


def test_rows_keep_their_keys_in_order(run, calls, tmp_path):
    file, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "new" / "out.jsonl"
    ran = run("judge", "chunks", file, "--out", out)
    assert ran.status == 0
    assert ran.out == f"Judged 2 chunks: 1 good, 1 bad. Rows: {out}.\n"
    judged = read(out)
    assert judged[0] == {**ROWS[0], "probability": 0.9, "verdict": "good"}
    assert list(judged[0]) == ["id", "text", "tags", "weight", "probability", "verdict"]
    assert judged[1] == {**ROWS[1], "probability": 0.125, "verdict": "bad"}
    assert calls[0] == ("chunks", "head", None, "all-minilm-l6-v2", "shipped")


def test_questions_need_a_question_and_a_passage(run, calls, tmp_path):
    rows = [{"question": "When?", "passage": "At nine.", "note": 1}]
    out = tmp_path / "out.jsonl"
    assert run("judge", "questions", write(tmp_path / "in.jsonl", rows), "--out", out).status == 0
    assert read(out) == [{**rows[0], "probability": 0.9, "verdict": "good"}]
    ran = run("judge", "questions", write(tmp_path / "in.jsonl", ROWS), "--out", out)
    assert ran.status == 2
    assert "line 1: `question` is missing, empty or not a text" in ran.err


def test_a_file_can_be_judged_in_place(run, calls, tmp_path):
    file = write(tmp_path / "rows.jsonl", ROWS)
    assert run("judge", "chunks", file, "--out", file).status == 0
    assert [row["verdict"] for row in read(file)] == ["good", "bad"]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_many_rows_go_in_batches_and_tell_how_far_they_are(run, calls, tmp_path):
    file = write(tmp_path / "in.jsonl", [{"text": f"row {number}"} for number in range(1500)])
    out = tmp_path / "out.jsonl"
    ran = run("judge", "chunks", file, "--out", out)
    assert len(read(out)) == 1500
    assert ran.err == "Judged 1024 of 1500.\n"
    assert sum(calls[1:]) == 1500
    assert max(calls[1:]) == 64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n\n{"text": ', "line 3: not valid JSON"),
        (b'{"text": "a"}\n["text"]\n', "line 2: not a JSON object"),
        (b'{"text": "a"}\n{"txt": "b"}\n', "line 2: `text` is missing, empty or not a text"),
        (b'{"text": 5}\n', "line 1: `text` is missing, empty or not a text"),
        (b'{"text": "  "}\n', "line 1: `text` is missing, empty or not a text"),
        (b'{"text": "\xff"}\n', "line 1: not valid Unicode text in UTF-8"),
        (b'{"text": "\\ud800"}\n', "line 1: not valid Unicode text in UTF-8"),
        (b"[" * 100_000, "line 1: not valid JSON"),
        (b"\n \n", "holds no rows"),
    ],
)
def test_bad_rows_are_refused_by_their_line(run, calls, tmp_path, content, message):
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(content)
    ran = run("judge", "chunks", file, "--out", out)
    assert ran.status == 2
    assert message in ran.err
    assert calls == []
    assert not out.exists()


def test_a_byte_order_mark_and_windows_line_ends_are_fine(run, calls, tmp_path):
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert run("judge", "chunks", file, "--out", out).status == 0
    assert len(read(out)) == 2


def test_files_that_cannot_be_read_or_written_are_named(run, calls, tmp_path):
    ran = run("judge", "chunks", tmp_path / "none.jsonl", "--out", tmp_path / "out.jsonl")
    assert (ran.status, "cannot read" in ran.err) == (2, True)
    file = write(tmp_path / "in.jsonl", ROWS)
    ran = run("judge", "chunks", file, "--out", tmp_path)
    assert (ran.status, "it is a folder" in ran.err) == (2, True)


def test_a_failure_halfway_leaves_no_output(run, monkeypatch, tmp_path):
    @contextmanager
    def open_judge(*args):
        def decide(rows):
            raise RuntimeError("the critic broke")

        yield decide

    monkeypatch.setattr(command, "open_judge", open_judge)
    file, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "out.jsonl"
    assert run("judge", "chunks", file, "--out", out).status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_an_unknown_critic_and_a_critic_without_its_model_are_wrong_input(run, tmp_path):
    file = write(tmp_path / "in.jsonl", ROWS)
    for options in (["--critic", "oracle"], ["--critic", "lm"]):
        ran = run("judge", "chunks", file, "--out", tmp_path / "out.jsonl", *options)
        assert ran.status == 2
        assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.model
def test_the_head_critic_tells_a_good_question_from_a_bad_one(run, tmp_path):
    passage = "The ferry Henn has linked Tollvik and Osthavn since 1931. It leaves Tollvik at nine every morning."
    rows = [
        {"question": "Since which year has the ferry Henn linked Tollvik and Osthavn?", "passage": passage},
        {"question": "what does the passage say", "passage": passage},
    ]
    file, out = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    assert run("judge", "questions", file, "--out", out).status == 0
    good, bad = read(out)
    assert good["probability"] > bad["probability"]
    assert bad["verdict"] == "bad"
