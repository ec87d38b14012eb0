import json

import pytest

RETRIEVAL = {"rank": 2, "retrieved_id": "ferry-0001", "retrieved_content": "…", "score": 0}
CONTEXT = {
    "chunk_id": "ferry-0000",
    "doc_id": "ferry",
    "path": "ferry.md",
    "title": "Ferry",
    "headings": ["Ferry", "Times"],
    "start": 3,
    "end": 40,
    "text": "The ferry leaves Tollvik at nine.\u2028[bold]Always.[/bold]\x1b[2J",
}
TRAIL = [
    {
        "step": "chunk",
        "candidate": 0,
        "output": {"content": 0.91},
        "probability": 0.88,
        "verdict": "good",
        "reason": None,
    },
    {
        "step": "question",
        "candidate": 1,
        "output": {"question": "When?"},
        "probability": None,
        "verdict": None,
        "reason": None,
    },
    {"step": "judge", "candidate": 1, "output": {}, "probability": 0.31, "verdict": "bad", "reason": "unclear"},
]


def sample(name, **changes):
    return {
        "id": name,
        "question": "When does the ferry leave Tollvik?",
        "answer": "at nine",
        "evolution": "reasoning",
        "language": "en",
        "contexts": [CONTEXT],
        "retrieval_gt": [["ferry-0000"]],
        "retrieval": RETRIEVAL,
        "probability": 0.914,
        "trail": TRAIL,
        "metadata": {},
        **changes,
    }


SAMPLES = [sample("q-abc1"), sample("q-abd2", retrieval={**RETRIEVAL, "rank": None})]
REJECTS = [
    {
        "step": "judge",
        "reason": "not clear",
        "probability": 0.2,
        "question": "What [red]this[/red]?",
        "chunk_id": "c-1",
    },
    {"step": "chunk", "reason": "a list", "probability": None, "question": None, "chunk_id": "c-2"},
    {"step": "judge", "reason": "not answerable", "probability": 0.4, "question": "Who?", "chunk_id": "c-3"},
]


@pytest.fixture
def folder(tmp_path):
    for name, rows in (("samples", SAMPLES), ("rejects", REJECTS)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_samples_are_shown_with_their_trail(run, folder):
    ran = run("show", folder)
    assert ran.status == 0
    text = " ".join(ran.out.split())
    for part in (
        "q-abc1 reasoning, en, good with 0.91, found at rank 2",
        "q-abd2 reasoning, en, good with 0.91, not found again",
        "Question When does the ferry leave Tollvik?",
        "Answer at nine",
        "Ferry > Times (ferry.md, characters 3 to 40)",
        "[bold]Always.[/bold]",
        "chunk 0 good 0.88 content: 0.91",
        "question 1 question: When?",
        "judge 1 bad 0.31 unclear",
        "Shown: 2 of 2 samples. Kept 2, refused 3 (judge 2, chunk 1).",
    ):
        assert part in text
    assert "\x1b" not in ran.out


def test_rejects_are_shown_with_step_and_reason(run, folder):
    text = " ".join(run("show", folder, "--rejects", "--limit", 2).out.split())
    assert "judge not clear, good with 0.20 What [red]this[/red]? chunk c-1" in text
    assert "chunk a list chunk c-2" in text
    assert "c-3" not in text
    assert "Shown: 2 of 3 rejects." in text


def test_one_sample_is_found_by_the_start_of_its_id(run, folder):
    assert "q-abd2" not in run("show", folder, "--id", "q-abc").out
    ran = run("show", folder, "--id", "zzz")
    assert (ran.status, "no sample whose id starts with zzz" in ran.err) == (2, True)
    assert run("show", folder, "--id", "q", "--rejects").status == 2


def test_json_lines_are_the_rows_themselves(run, folder):
    ran = run("show", folder, "--json", "--limit", 1)
    assert [json.loads(line) for line in ran.out.split("\n") if line] == SAMPLES[:1]
    ran = run("show", folder, "--json", "--rejects")
    assert [json.loads(line) for line in ran.out.split("\n") if line] == REJECTS


def test_a_run_without_samples_is_shown_too(run, tmp_path):
    (tmp_path / "samples.jsonl").touch()
    (tmp_path / "rejects.jsonl").touch()
    ran = run("show", tmp_path)
    assert (ran.status, ran.out) == (0, "Shown: 0 of 0 samples. Kept 0, refused 0.\n")


def test_what_is_no_finished_run_is_wrong_input(run, tmp_path):
    assert "is not the folder of a run" in run("show", tmp_path).err
    (tmp_path / "run.sqlite").touch()
    ran = run("show", tmp_path)
    assert (ran.status, "has not finished" in ran.err) == (2, True)
    (tmp_path / "samples.jsonl").write_text("{broken", encoding="utf-8")
    ran = run("show", tmp_path)
    assert (ran.status, "cannot read" in ran.err) == (2, True)
