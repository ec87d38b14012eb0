import contextlib
import json
import sqlite3

import numpy as np
import pytest

from groundset.commands import judge
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.trail import NOTHING_TO_ASK
from programs.types import Attempt, Chunk, Context, Reject, Sample, StepRecord

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
    {
        "step": "judge",
        "candidate": 1,
        "output": {"fit": 0.31},
        "probability": 0.31,
        "verdict": "bad",
        "reason": "unclear",
    },
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
    {"step": "pair", "reason": NOTHING_TO_ASK, "probability": None, "question": None, "chunk_id": "c-4"},
]


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path / "run", SAMPLES, REJECTS)


def make_run(folder, samples, rejects):
    compiled = {"judge": {"threshold": 0.42, "model": "head"}, "chunk": {"model": "head"}}
    with RunStore.create(folder, meta={"compiled": compiled}, documents=[], chunks=[]) as store:
        vector = np.zeros(2, np.float32)
        store.results.add(
            [(Sample.model_validate(sample), vector) for sample in samples],
            [Reject.model_validate(reject) for reject in rejects],
        )
    return folder


def test_samples_with_trail(run, folder):
    assert "Trail" not in run("show", folder).out
    ran = run("show", folder, "--trail")
    assert ran.status == 0
    text = " ".join(ran.out.split())
    for part in (
        "q-abc1 reasoning, en, found at rank 2",
        "q-abd2 reasoning, en, not found again",
        "Question When does the ferry leave Tollvik?",
        "Answer at nine Good score 0.91 (threshold 0.42)",
        "Ferry > Times (ferry.md, characters 3 to 40)",
        "[bold]Always.[/bold]",
        "chunk 0 good 0.88 content: 0.91",
        "question 1 question: When?",
        "judge 1 bad 0.31 fit: 0.31; unclear",
        "fit: overall probability",
        "Shown: 2 of 2 samples. Kept 2, refused 2 questions (judge 2); skipped 2 passages",
    ):
        assert part in text
    assert "\x1b" not in ran.out
    assert "meant:" not in ran.out, "only outputs in the trail are explained"


def test_rejects(run, folder):
    text = " ".join(run("show", folder, "--rejects", "--limit", 2).out.split())
    assert "judge not clear, score 0.20 (threshold 0.42) What [red]this[/red]? chunk c-1" in text
    assert "chunk a list chunk c-2" in text
    assert "c-3" not in text
    assert "Shown: 2 of 4 rejects." in text


def test_id_prefix(run, folder):
    assert "q-abd2" not in run("show", folder, "--id", "q-abc").out
    ran = run("show", folder, "--id", "zzz")
    assert (ran.status, "--id zzz" in ran.err) == (2, True)
    assert run("show", folder, "--id", "q", "--rejects").status == 2


def test_json_is_one_document(run, folder):
    found = {"run": str(folder), "kept": 2, "refused": {"judge": 2, "chunk": 1, "pair": 1}}
    ran = run("show", folder, "--json", "--limit", 1)
    assert json.loads(ran.out) == {**found, "samples": SAMPLES[:1]}
    assert json.loads(run("show", folder, "--json", "--id", "q-abd").out)["samples"] == SAMPLES[1:]
    ran = run("show", folder, "--json", "--rejects")
    assert json.loads(ran.out) == {**found, "rejects": REJECTS[:3], "left_out": 1}
    assert ran.err == ""


def test_rejects_by_step(run, folder):
    def shown(*options):
        return json.loads(run("show", folder, "--rejects", "--json", *options).out)

    assert shown("--step", "judge")["rejects"] == [REJECTS[0], REJECTS[2]]
    assert shown("--step", "judge, chunk") == shown("--step", "chunk", "--step", "judge")
    assert shown("--step", "judge,chunk")["rejects"] == REJECTS[:3]
    assert shown("--step", "pair")["rejects"] == REJECTS[3:]
    assert shown("--step", "pair")["left_out"] == 0
    ran = run("show", folder, "--rejects", "--step", "judge,jury")
    assert (ran.status, ran.out) == (2, "")
    assert "--step jury: " in ran.err
    assert "judge, chunk, pair" in ran.err


def test_exhausted_chunks_are_only_counted(run, folder):
    text = " ".join(run("show", folder, "--rejects").out.split())
    assert NOTHING_TO_ASK not in text
    assert "Shown: 3 of 4 rejects." in text
    assert "Not shown: 1 chunks" in text
    text = " ".join(run("show", folder, "--rejects", "--step", "pair").out.split())
    assert f"pair {NOTHING_TO_ASK}" in text
    assert "Not shown" not in text


@pytest.fixture
def stored(tmp_path):
    """A run with a store, whose second attempt had its question refused."""
    chunk = Chunk(
        chunk_id="c-1", doc_id="d", path="d.md", title="D", start=0, end=6, text="The **ferry** sails at nine."
    )
    context = Context(chunk=chunk, passage="", topic="", language="en")
    reject = Reject(step="judge", reason="not clear", chunk_id="c-1", probability=0.2, question="When sails it?")
    with RunStore.create(tmp_path / "run", meta={}, documents=[], chunks=[chunk]) as store:
        store.attempts.begin(Attempt(number=0, contexts=(context,), wanted="simple"))
        store.attempts.add_steps(
            0, [StepRecord(step="question", output={"question": "When sails it?", "answer": "at nine"})]
        )
        rejects = [Reject(step="chunk", reason="a list", chunk_id="c-1"), reject]
        store.results.decide(0, Verdict(None, True), None, None, rejects)
    return tmp_path / "run"


def test_refused_questions_are_written_as_rows(run, stored, tmp_path):
    out = tmp_path / "refused.jsonl"
    ran = run("show", stored, "--rejects", "--out", out)
    assert (ran.status, ran.out) == (0, f"1 refused questions: {out}.\n")
    [row] = judge.read_rows(out, ("id", "question", "answer", "passage"))
    assert {**row, "id": ""} == {
        "id": "",
        "question": "When sails it?",
        "answer": "at nine",
        "passage": "The ferry sails at nine.",
        "chunk_ids": ["c-1"],
        "step": "judge",
        "reason": "not clear",
        "probability": 0.2,
    }
    ran = run("show", stored, "--rejects", "--step", "judge", "--out", "-")
    assert [json.loads(line) for line in ran.out.splitlines()] == [row]
    assert ran.err == "1 refused questions: standard output.\n"
    assert run("show", stored, "--rejects", "--step", "chunk", "--out", out).status == 0
    assert out.read_text(encoding="utf-8") == ""


def test_files_of_the_run_are_not_replaced(run, stored):
    before = b"as it was"
    (stored / "rejects.jsonl").write_bytes(before)
    ran = run("show", stored, "--rejects", "--out", stored / "rejects.jsonl")
    assert (ran.status, f"--out {stored / 'rejects.jsonl'}: is an input" in ran.err) == (2, True)
    assert (stored / "rejects.jsonl").read_bytes() == before


def test_incompatible_options(run, folder, tmp_path):
    for options, message in (
        (["--step", "judge"], "--step requires --rejects"),
        (["--out", tmp_path / "a.jsonl"], "--out requires --rejects"),
        (["--rejects", "--json", "--out", tmp_path / "a.jsonl"], "--json cannot be used with --out"),
    ):
        ran = run("show", folder, *options)
        assert (ran.status, ran.out) == (2, "")
        assert message in ran.err
    assert not (tmp_path / "a.jsonl").exists()


def test_narrow_terminal(run_narrow, folder):
    lines = run_narrow("show", folder, "--trail")
    assert lines[0].startswith("q-abc1 ───")
    assert lines[1] == "reasoning, en, found at rank 2"
    trail = lines.index("Trail")
    assert lines[trail + 1 : trail + 7] == [
        "chunk, candidate 0, good, 0.88",
        "  content: 0.91",
        "question, candidate 1",
        "  question: When?",
        "judge, candidate 1, bad, 0.31",
        "  fit: 0.31; unclear",
    ]
    assert "judge  not clear, score 0.20 (threshold 0.42)" in run_narrow("show", folder, "--rejects")


def test_run_without_samples(run, tmp_path):
    ran = run("show", make_run(tmp_path / "run", [], []))
    assert (ran.status, ran.out) == (0, "Shown: 0 of 0 samples. Kept 0, refused 0 questions.\n")


@pytest.mark.parametrize("options", [(), ("--json",), ("--id", "q"), ("--rejects",)])
def test_damaged_rows_are_reported(run, folder, options):
    table = "rejects" if "--rejects" in options else "samples"
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute(f"UPDATE {table} SET record = '[]'")
    ran = run("show", folder, *options)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "run.sqlite: it is damaged" in ran.err
