import json
import os
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from dspy.lm15 import Message, Response, Usage

from groundset.engine import judging as command
from groundset.engine.judging import text_of
from groundset.runtime import lms
from groundset.runtime.lms import LanguageModel
from programs.deciding import Decision
from programs.errors import EngineError

ROWS = [
    {"id": 1, "text": "The ferry leaves Tollvik at nine.", "tags": ["a", {"b": None}], "weight": 0.25},
    {"text": "schlecht\u2028 “bad” 🛶", "verdict": "unsure", "id": "x"},
]


def decision(good):
    probabilities = (
        {"fit": 0.9, "clear": 0.95, "answerable": 0.97} if good else {"fit": 0.125, "clear": 0.8, "answerable": 0.3}
    )
    return Decision(values={"fit": good}, probabilities=probabilities, levels={"depth": 1.25})


GOOD = {
    "probability": 0.9,
    "verdict": "good",
    "scores": {"clear": 0.95, "answerable": 0.97, "depth": 1.25},
    "weakest": "clear",
}
BAD = {
    "probability": 0.125,
    "verdict": "bad",
    "scores": {"clear": 0.8, "answerable": 0.3, "depth": 1.25},
    "weakest": "answerable",
}


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def calls(monkeypatch):
    """Replace the critics by one that refuses texts with "bad"; return the list of its calls."""
    seen = []

    @contextmanager
    def open_judge(kind, critic, lm, embedder, compiled, tracking, journal, *, panel):
        seen.append((kind, critic, lm, embedder, compiled) + (("panel",) if panel else ()))

        def decide(rows):
            seen.append(len(rows))
            return [decision("bad" not in json.dumps(row)) for row in rows]

        yield decide

    monkeypatch.setattr(command, "open_judge", open_judge)
    return seen


def test_rows_keep_their_keys(run, calls, tmp_path):
    file, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "new" / "out.jsonl"
    ran = run("judge", "chunks", file, "--out", out)
    assert ran.status == 0
    assert ran.out == f"Judged 2 chunks: 1 good, 1 bad. Rows: {out}.\n"
    judged = read(out)
    assert judged[0] == {**ROWS[0], **GOOD}
    assert list(judged[0]) == ["id", "text", "tags", "weight", "probability", "verdict", "scores", "weakest"]
    assert judged[1] == {**ROWS[1], **BAD}
    assert calls[0] == ("chunks", "head", None, "all-minilm-l6-v2", "shipped")


def test_required_keys_of_questions(run, calls, tmp_path):
    rows = [{"question": "When?", "passage": "At nine.", "note": 1}]
    out = tmp_path / "out.jsonl"
    assert run("judge", "questions", write(tmp_path / "in.jsonl", rows), "--out", out).status == 0
    assert read(out) == [{**rows[0], **GOOD}]
    ran = run("judge", "questions", write(tmp_path / "in.jsonl", ROWS), "--out", out)
    assert ran.status == 2
    assert "line 1: `question` is missing, empty or not a text" in ran.err


@pytest.fixture
def passages(monkeypatch):
    """Replace the critics; return the list of judged passages."""
    seen = []

    @contextmanager
    def open_judge(*args, panel):
        def decide(rows):
            seen.extend(text_of(row, "passage") for row in rows)
            return [decision(good=True) for _ in rows]

        yield decide

    monkeypatch.setattr(command, "open_judge", open_judge)
    return seen


def test_samples_are_judged_on_their_contexts(run, passages, tmp_path):
    sample = {
        "question": "When?",
        "contexts": [{"chunk_id": "c1", "text": "At **nine** [daily](#d)."}, {"text": "Or at ten."}],
    }
    given = {"question": "When?", "passage": "At five.", "contexts": [{"text": "At six."}]}
    file, out = write(tmp_path / "samples.jsonl", [sample, given]), tmp_path / "out.jsonl"
    assert run("judge", "questions", file, "--out", out).status == 0
    assert passages == ["At nine daily.\n\nOr at ten.", "At five."]
    assert read(out)[0] == {**sample, **GOOD}, "the row itself stays as it is"
    for contexts in ([], [{"title": "x"}], ["At nine."], "At nine.", [{"text": "a"}, {"text": 5}]):
        ran = run("judge", "questions", write(file, [{"question": "When?", "contexts": contexts}]), "--out", out)
        assert (ran.status, "line 1: `passage` is missing, empty or not a text" in ran.err) == (2, True)


def test_rows_on_standard_output(run, calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "in.jsonl", ROWS)
    ran = run("judge", "chunks", file, "--out", "-")
    assert ran.status == 0
    assert [json.loads(line)["verdict"] for line in ran.out.split("\n") if line] == ["good", "bad"]
    assert ran.err == "Judging: 2.\nJudged 2 chunks: 1 good, 1 bad. Rows: standard output.\n"
    assert list(tmp_path.iterdir()) == [file]


def test_output_to_a_pipe(run, calls, tmp_path):
    file, pipe, got = write(tmp_path / "in.jsonl", ROWS), tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.extend(read(pipe)), daemon=True)
    reader.start()
    assert run("judge", "chunks", file, "--out", pipe).status == 0
    reader.join(10)
    assert [row["verdict"] for row in got] == ["good", "bad"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("linked", ["", "soft", "hard"])
def test_inputs_are_not_replaced(run, calls, tmp_path, linked):
    file = write(tmp_path / "rows.jsonl", ROWS)
    out = tmp_path / "link.jsonl" if linked else file
    if linked == "soft":
        out.symlink_to(file)
    elif linked:
        out.hardlink_to(file)
    ran = run("judge", "chunks", file, "--out", out)
    assert (ran.status, ran.out, calls) == (2, "", [])
    assert f"--out {out}: is an input" in ran.err
    assert read(file) == ROWS


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 2)])
def test_judging_in_place_is_confirmed(run, calls, tmp_path, type_in, answer, status):
    file = write(tmp_path / "rows.jsonl", ROWS)
    type_in(answer)
    assert run("judge", "chunks", file, "--out", file).status == status
    assert [row.get("weakest") for row in read(file)] == ([None, None] if status else ["clear", "answerable"])
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_other_suffixes_are_refused_first(run, calls, tmp_path):
    ran = run("judge", "chunks", write(tmp_path / "in.jsonl", ROWS), "--out", tmp_path / "out.csv")
    assert (ran.status, "must end with .jsonl" in ran.err, calls) == (2, True, [])
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_rows_are_judged_in_batches(run, calls, tmp_path):
    file = write(tmp_path / "in.jsonl", [{"text": f"row {number}"} for number in range(1500)])
    out = tmp_path / "out.jsonl"
    ran = run("judge", "chunks", file, "--out", out)
    assert len(read(out)) == 1500
    assert ran.err.startswith("Judging: 1,500.\n")
    assert sum(calls[1:]) == 1500
    assert max(calls[1:]) == 64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n\n{"text": ', "line 3: not JSON ("),
        (b'{"text": "a"}\n["text"]\n', "line 2: not a JSON object"),
        (b'{"text": "a"}\n{"txt": "b"}\n', "line 2: `text` is missing, empty or not a text"),
        (b'{"text": 5}\n', "line 1: `text` is missing, empty or not a text"),
        (b'{"text": "  "}\n', "line 1: `text` is missing, empty or not a text"),
        (b'{"text": "\xff"}\n', "line 1: not UTF-8 text"),
        (b'{"text": "\\ud800"}\n', "line 1: not valid Unicode text"),
        (b'{"te\\udfffxt": 1, "text": "a"}\n', "line 1: not valid Unicode text"),
        (b"[" * 100_000, "line 1: nested too deep"),
        (b'{"text": "a", "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 1: nested too deep"),
        (b'{"text": "a", "deep": ' + b'{"d":' * 100_000 + b"1" + b"}" * 100_000 + b"}\n", "line 1: nested too deep"),
        (b"\n \n", "holds no rows"),
    ],
)
def test_bad_rows_are_named_by_line(run, calls, tmp_path, content, message):
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(content)
    ran = run("judge", "chunks", file, "--out", out)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert calls == []
    assert not out.exists()


def test_byte_order_mark_and_windows_line_ends(run, calls, tmp_path):
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert run("judge", "chunks", file, "--out", out).status == 0
    assert len(read(out)) == 2


def test_unreadable_and_unwritable_files(run, calls, tmp_path):
    ran = run("judge", "chunks", tmp_path / "none.jsonl", "--out", tmp_path / "out.jsonl")
    assert (ran.status, "cannot read" in ran.err) == (2, True)
    file = write(tmp_path / "in.jsonl", ROWS)
    ran = run("judge", "chunks", file, "--out", tmp_path)
    assert (ran.status, "it is a folder" in ran.err) == (2, True)
    ran = run("judge", "chunks", file, "--out", file / "out.jsonl")
    assert (ran.status, "is a file, not a folder" in ran.err, calls) == (2, True, [])


def test_failure_leaves_no_output(run, monkeypatch, tmp_path):
    @contextmanager
    def open_judge(*args, panel):
        def decide(rows):
            raise RuntimeError("the critic broke")

        yield decide

    monkeypatch.setattr(command, "open_judge", open_judge)
    file, out = write(tmp_path / "in.jsonl", ROWS), tmp_path / "out.jsonl"
    assert run("judge", "chunks", file, "--out", out).status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_unknown_critic_and_missing_model(run, tmp_path):
    file = write(tmp_path / "in.jsonl", ROWS)
    for options in (["--critic", "oracle"], ["--critic", "lm"]):
        ran = run("judge", "chunks", file, "--out", tmp_path / "out.jsonl", *options)
        assert ran.status == 2
        assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.model
def test_head_critic(run, tmp_path):
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
    assert bad["scores"].keys() == {"independent", "clear", "answerable"}
    assert bad["scores"][bad["weakest"]] == min(bad["scores"].values())


@pytest.mark.parametrize(("critic", "sizes"), [("head", [2]), ("lm", [1, 1]), ("ensemble", [1, 1])])
def test_language_model_critic(run, calls, tmp_path, critic, sizes):
    file = write(tmp_path / "in.jsonl", ROWS)
    assert run("judge", "chunks", file, "--critic", critic, "--out", tmp_path / "out.jsonl").status == 0
    assert calls[1:] == sizes


class Reader:
    """A language model that accepts every question and fails at one call."""

    def __init__(self, fails_at=0):
        self.calls, self.fails_at = 0, fails_at

    def complete(self, request):
        self.calls += 1
        if self.calls == self.fails_at:
            raise EngineError("the server is gone")
        names = ("Independent", "Clear", "Answerable", "Fit")
        text = "\n".join(f"{name}: As it should be. - yes, 90" for name in names)
        usage = Usage(input_tokens=10, output_tokens=20, total_tokens=30)
        return Response(id=None, model="remote/w", message=Message.assistant(text), finish_reason="stop", usage=usage)


def test_judgements_before_a_failure_are_reused(run, monkeypatch, tmp_path):
    rows = [{"question": f"What is the height of tower {n}?", "passage": f"Tower {n} is 30 m high."} for n in range(4)]
    file, out = write(tmp_path / "rows.jsonl", rows), tmp_path / "judged.jsonl"

    def judge(reader):
        def open_model(spec, journal):
            return LanguageModel(reader, model="remote/w", name=spec, sha256=None, journal=journal)

        monkeypatch.setattr(lms, "open_lm", open_model)
        return run("judge", "questions", file, "--critic", "verdict", "--lm", "tiny", "--out", out)

    assert judge(Reader(fails_at=3)).status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["judged.jsonl.calls", "rows.jsonl"]
    again = Reader()
    assert judge(again).status == 0
    assert again.calls == 2
    assert [row["verdict"] for row in read(out)] == ["good"] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["judged.jsonl", "rows.jsonl"]


class Panel(Reader):
    """A language model that approves every question but those with the answer "none"."""

    def complete(self, request):
        response = super().complete(request)
        verdict = "NOT APPROVED" if "Answer: none" in str(request.messages[-1].parts[0].text) else "fine - yes, 80"
        return replace(response, message=Message.assistant(f"Approved: {verdict}"))


def test_panel_reviews_questions_with_their_answers(run, monkeypatch, tmp_path):
    row = {"question": "How high is tower 2?", "passage": "Tower 2 is 30 m high.", "answer": "30 m"}
    file, out = write(tmp_path / "rows.jsonl", [row, {**row, "answer": "none"}]), tmp_path / "judged.jsonl"
    reader = Panel()

    def open_model(spec, journal):
        return LanguageModel(reader, model="remote/w", name=spec, sha256=None, journal=journal)

    monkeypatch.setattr(lms, "open_lm", open_model)
    ran = run("judge", "questions", file, "--panel", "--lm", "tiny", "--out", out)
    assert ran.status == 0, ran.err
    assert reader.calls == 6
    good, bad = read(out)
    assert (good["verdict"], good["probability"], good["reasons"]["use"]) == ("good", 0.9, "fine")
    assert good["scores"] == dict.fromkeys(("accuracy", "clarity", "use"), 0.9)
    assert (bad["verdict"], bad["probability"]) == ("bad", 0.1)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("chunks", ["--lm", "tiny"], "--panel: reviews questions with their answers"),
        ("questions", ["--critic", "lm", "--lm", "tiny"], "--critic lm: the panel gives reasons"),
        ("questions", [], "--panel: needs a language model (--lm)"),
        ("questions", ["--lm", "tiny"], "line 1: `answer` is missing, empty or not a text"),
    ],
)
def test_wrong_uses_of_the_panel(run, calls, tmp_path, kind, options, message):
    file = write(tmp_path / "rows.jsonl", [{"question": "When?", "passage": "At nine.", "text": "At nine."}])
    ran = run("judge", kind, file, "--panel", *options, "--out", tmp_path / "out.jsonl")
    assert (ran.status, calls) == (2, [])
    assert message in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
