"""`groundset judge` and its function: rows in, rows with decisions out."""

from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from json_lines import read, write
from model_server import serving, wrote
from refusal import refuses
from scripted import ScriptedEngine, scripted_lm

import groundset
from groundset.models import open as opening
from groundset.programs.errors import ModelError
from groundset.run.judging import JudgeOptions, judge

ROWS = [
    {
        "id": 1,
        "question": "When does the ferry leave Tollvik?",
        "passage": "The ferry leaves Tollvik at nine.",
        "answer": "at nine",
        "tags": ["a", {"b": None}],
    },
    {
        "question": "What does it say?",
        "contexts": [{"text": "Clocks are *small*.", "title": "Clocks"}, {"text": "🛶\u2028 “x”"}],
        "answer": "x",
        "id": "y",
    },
]
GOOD = (
    "Reason: it is fine\nAnswer: at nine\nIndependent: yes\nClear: yes\nAnswerable:"
    " yes\nConfidence: 90"
)
BAD = (
    "Reason: it points at a text\nAnswer: not stated\nIndependent: no\nClear: yes\nAnswerable:"
    " no\nConfidence: 20"
)
Scripted = Callable[[dict[str, Any]], ScriptedEngine]


@pytest.fixture
def scripted(monkeypatch) -> Scripted:
    """Open a model that answers from a script."""

    def script(answers):
        lm, engine = scripted_lm(answers)

        @contextmanager
        def open_model(spec, **options):
            yield SimpleNamespace(lm=lm, name=spec)

        monkeypatch.setattr(opening, "open_model", open_model)
        return engine

    return script


def run_command(kind, file, out, **options):
    judge(JudgeOptions.parse({"kind": kind, "file": file, "out": out, "quiet": True, **options}))
    return read(out)


def test_a_language_model_judges_the_rows_of_a_file(scripted, tmp_path, capsys):
    engine = scripted(
        {"judge": lambda prompt: GOOD if "ferry" in prompt.rpartition("Passage:")[2] else BAD}
    )
    file = write(tmp_path / "in.jsonl", ROWS)
    first, second = run_command(
        "questions", file, tmp_path / "out.jsonl", critic_lm="any/tiny", workers=2
    )
    assert first == {
        **ROWS[0],
        "probability": 0.9,
        "verdict": "good",
        "reason": "it is fine",
        "criteria": {"independent": True, "clear": True, "answerable": True},
    }
    assert second["verdict"] == "bad"
    assert second["probability"] == 0.2
    assert second["reason"] == "not independent: it points at a text"
    assert list(second) == [*ROWS[1], "probability", "verdict", "reason", "criteria"]
    prompts = [
        "".join(part.text for part in request.messages[-1].parts) for _, request in engine.requests
    ]
    assert any("[1] Clocks\nClocks are small." in prompt for prompt in prompts), (
        "contexts are one passage"
    )
    assert capsys.readouterr().out == "Judged 2 questions: 1 good, 1 bad.\n"


@pytest.mark.parametrize("written", ["I am sorry, I cannot.", ""])
def test_what_cannot_be_read_is_no_verdict(scripted, written):
    scripted({"judge": written})
    (row,) = groundset.judge("questions", ROWS[:1], critic_lm="any/tiny", quiet=True)
    assert row["verdict"] is None
    assert row["probability"] is None
    assert "cannot be read" in row["reason"]


def test_an_error_loses_no_finished_call(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))
    rows = [
        {"question": f"When does ferry {n} leave Tollvik?", "passage": "At nine."} for n in range(4)
    ]
    file = write(tmp_path / "in.jsonl", rows)
    with refuses("does not answer"):
        run_command(
            "questions", file, tmp_path / "out", critic_lm="openai/none@http://127.0.0.1:9/v1"
        )
    with serving(GOOD) as server:
        server.answer = lambda body: (
            GOOD if len(server.bodies) < 3 else (401, {"error": {"message": "no"}})
        )
        with refuses("answers 401: no"):
            run_command("questions", file, tmp_path / "out", critic_lm=server.spec)
        assert len(server.bodies) == 3
        server.answer = lambda body: GOOD
        judged = run_command("questions", file, tmp_path / "out", critic_lm=server.spec)
        assert [row["verdict"] for row in judged] == ["good"] * 4
        assert len(server.bodies) == 5
    assert list((tmp_path / "cache" / "judged").iterdir()) == []


def test_rows_that_a_server_never_answers_have_no_verdict(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))
    asked = [f"When does ferry {n} leave?" for n in range(12)]
    rows = [{"question": question, "passage": "At nine."} for question in asked]

    def answer(body):
        text = body["messages"][-1]["content"]
        return {**wrote(""), "choices": []} if any(each in text for each in asked[::2]) else GOOD

    with serving(answer) as server:
        options = {"critic_lm": server.spec, "quiet": True}
        judged = groundset.judge("questions", rows, **options)
        assert [row["verdict"] for row in judged] == [None, "good"] * 6
        assert "did not answer this prompt" in judged[0]["reason"]
        with refuses("5 requests in a row failed", ModelError) as caught:
            groundset.judge("questions", rows[::2], **options)
        assert caught.value.exit_code == 1


@pytest.mark.model
def test_heads_judge_chunks_and_questions(tmp_path):
    (row,) = groundset.judge(
        "questions", [{**ROWS[0], "question": "What does it say about it?"}], quiet=True
    )
    assert row["verdict"] == "bad"
    assert 0 <= row["probability"] < 0.5
    assert row["reason"].startswith("not ")
    chunks = [
        {
            "text": (
                "The ferry leaves Tollvik at nine and reaches Osthavn at ten. It carries 40 cars."
            )
        },
        {"text": "x"},
    ]
    judged = run_command("chunks", write(tmp_path / "c.jsonl", chunks), tmp_path / "o.jsonl")
    assert judged[0]["probability"] > judged[1]["probability"]
    assert judged[1]["criteria"].keys() == {"content", "self_contained"}


@pytest.mark.parametrize(
    ("kind", "rows", "options", "message"),
    [
        ("recipes", ROWS, {}, "kind recipes: choose chunks or questions"),
        (
            "chunks",
            [{"text": "a"}, {"txt": "b"}],
            {},
            r"rows\[1\]: column text is missing",
        ),
        ("questions", [{"question": "a?"}], {}, r"rows\[0\]: column passage is missing"),
        (
            "questions",
            [{"question": "a?" * 600_000, "passage": "b"}],
            {},
            "column question: longer than 1,000,000",
        ),
    ],
)
def test_wrong_rows_and_options(kind, rows, options, message):
    with refuses(message):
        groundset.judge(kind, rows, **options)


def test_wrong_files(tmp_path):
    empty, file = write(tmp_path / "empty.jsonl", []), write(tmp_path / "in.jsonl", [{"text": ""}])
    for given, out, message in (
        (tmp_path / "none", tmp_path / "out", "none: No such file"),
        (empty, tmp_path / "out", "holds no rows"),
        (file, file, "is the input; name another file"),
        (file, tmp_path, "it is a folder"),
        (file, tmp_path / "out", r"in\.jsonl, line 1, column text: is empty"),
    ):
        with refuses(message):
            run_command("chunks", given, out)
    assert not (tmp_path / "out").exists()
    assert groundset.judge("chunks", []) == []
