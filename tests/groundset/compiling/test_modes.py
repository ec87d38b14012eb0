"""Measuring the asking modes of a model."""

import json
from types import SimpleNamespace

import pytest

from groundset.compiling import modes
from groundset.engine.config import RunConfig, choose_mode
from groundset.models.specs import parse_spec
from programs.critics.states import folder_of
from programs.modes import MODES

LM, JUDGE = "openai/small@http://127.0.0.1:9/v1", "openai/strong@http://127.0.0.1:9/v1"


@pytest.fixture
def generated(monkeypatch):
    """Generate as many samples in each mode as its name has letters; only those of mode free are good."""
    calls = []

    def samples_of(options, out):
        calls.append(options)
        sample = SimpleNamespace(question=f"{options['mode']}?", contexts=[SimpleNamespace(text="passage")])
        return [sample] * len(options["mode"])

    def judge(kind, rows, *, critic, lm, quiet):
        assert (kind, critic, lm) == ("questions", "verdict", JUDGE)
        return [{"verdict": "good" if row["question"] == "free?" else "bad", **row} for row in rows]

    monkeypatch.setattr(modes, "_samples_of", samples_of)
    monkeypatch.setattr(modes, "judge", judge)
    return calls


def test_best_mode_is_written_and_used(generated, tmp_path):
    report, file = modes.measure_modes(LM, JUDGE, passages=10, out=tmp_path)
    assert [(each.mode, each.passages, each.made, each.good) for each in report.measures] == [
        ("free", 10, 4, 4),
        ("guided", 10, 6, 0),
        ("sentence", 10, 8, 0),
    ]
    assert {options["mode"] for options in generated} == set(MODES)
    assert {options["compiled"] for options in generated} == {None}
    written = json.loads(file.read_text(encoding="utf-8"))
    assert (written["mode"], written["critic"]) == ("free", "verdict")
    assert "free 0.40 (0.17-0.69) (4 good of 4 made on 10 passages)" in written["measured"]
    chosen = choose_mode(RunConfig(documents=("docs",), lm=LM, compiled=str(tmp_path)))
    assert chosen.mode.name == "free"
    assert chosen.why == f"the mode of {LM}"


def test_passages_come_evenly_from_documents(generated, tmp_path):
    modes.measure_modes(LM, JUDGE, passages=16, out=tmp_path)
    rows = [json.loads(line) for line in generated[0]["chunks"].read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({row["doc_id"] for row in rows}) == 16
    assert all(row["title"] and row["text"] for row in rows)
    _, again = modes.measure_modes(LM, JUDGE, passages=16, seed=1, out=tmp_path / "other")
    other = [json.loads(line) for line in (again.parent / "modes/passages.jsonl").read_text("utf-8").splitlines()]
    assert [row["chunk_id"] for row in other] != [row["chunk_id"] for row in rows]


def test_compiled_states_are_used(generated, tmp_path):
    state = tmp_path / folder_of(parse_spec(LM).name) / "ask.json"
    state.parent.mkdir()
    state.write_text("{}", encoding="utf-8")
    modes.measure_modes(LM, JUDGE, passages=12, out=tmp_path)
    assert {options["compiled"] for options in generated} == {str(tmp_path)}
