"""Compiling prompts for a language model: states, cached calls and tracking."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundset.compiling import resources
from groundset.compiling.options import CompileOptions
from groundset.data_files import data_path
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.tracking.compiles import CompileRuns, CompileStore
from optimizers.labels import hashes_of
from optimizers.steps import COMPILABLE
from optimizers.strategies import STRATEGIES
from programs.errors import GroundsetError, InputError, StrategyError, UnreachableModelError

WEIGHTS = "w" * 64
# Original step and two candidates on dev, both versions on train and test. Two prompts equal the original ones, because
# no demo of their language was drawn.
CALLS = 4 + 2 * 4 + 4 + 4 - 2

Compile = Callable[..., Any]


@pytest.mark.usefixtures("few_labels")
def test_unreachable_model_leaves_no_files(
    compile_for: Any, compile_answer: Compile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def open_model(spec: str, **options: Any) -> Any:
        raise UnreachableModelError("gone")

    compile_for()
    monkeypatch.setattr(resources, "open_lm", open_model)
    with pytest.raises(UnreachableModelError):
        compile_answer()
    assert not (tmp_path / "out").exists()


def test_state_is_loaded_for_its_weights_only_and_calls_are_cached(
    compile_for: Any, compile_answer: Compile, listener: Any, tmp_path: Path, shipped_sha256: str
) -> None:
    engine, out = compile_for(), str(tmp_path / "out")
    report, file = compile_answer()
    assert file == tmp_path / "out" / "tiny" / "answer.json"
    assert listener.expected == 28
    assert listener.calls == report.figures["calls"] == engine.calls == CALLS
    assert report.state.record["rows"]["train"] > 100
    assert load_compiled(out, StateConsumers("lm", None, "tiny", WEIGHTS)).record()["answer"] == {
        "model": "tiny",
        "optimizer": "labeled",
    }
    with pytest.raises(InputError, match="other weights of --lm"):
        load_compiled(out, StateConsumers("lm", None, "tiny", "v" * 64))
    with pytest.raises(InputError, match="no states for head or other"):
        load_compiled(out, StateConsumers("head", shipped_sha256, "other", WEIGHTS))
    first = file.read_bytes()
    assert compile_answer()[1].read_bytes() == first
    assert engine.calls == CALLS


def test_user_gold_rows_are_used_and_recorded(compile_for: Any, compiled: Compile, tmp_path: Path) -> None:
    compile_for()
    user_file = tmp_path / "mine.jsonl"
    place = {"document": "tide-mill", "language": "en", "split": "train", "topic": "Orsle"}
    fact = "The tide mill of Orsle stood still in 1712 because the sluice had rotted."
    chunk = {**place, "id": "tide-mill-00", "text": fact, "label": "good", "reason": "ok"}
    gold = {
        **place,
        "step": "rewrite",
        "id": "tide-mill-rewrite-1",
        "chunk": "tide-mill-00",
        "before": "",
        "fact": fact,
        "answer": "the sluice had rotted",
        "question": "Why did it stand still?",
        "feedback": "Name the tide mill of Orsle.",
        "better_question": "Why did the tide mill of Orsle stand still in 1712?",
        "kind": "vague",
    }
    user_file.write_text(f"{json.dumps(chunk)}\n{json.dumps(gold)}\n", encoding="utf-8")
    records = []
    for labels in ((), (str(user_file),)):
        options = {"optimizer": "labeled", "lm": "tiny", "budget": 4, "labels": labels}
        [(report, _)] = compiled("rewrite", sizes={"dev": 2, "test": 2}, **options)
        records.append(report.state.record)
        assert {f"gold.{name}.jsonl" for name in ("rewrite", "chunks")} <= report.parameters.keys()
    assert records[1]["rows"]["train"] == records[0]["rows"]["train"] + 1
    assert records[1]["labels"] == [*records[0]["labels"], *hashes_of([user_file])]
    assert records[1]["gold"] == hashes_of([data_path("gold", row["file"]) for row in records[1]["gold"]])


@pytest.mark.usefixtures("few_labels")
def test_unchanged_step_does_not_overwrite_earlier_result(
    compile_for: Any, compile_answer: Compile, listener: Any
) -> None:
    compile_for()
    file = compile_answer()[1]
    state = json.loads(file.read_text(encoding="utf-8"))
    assert state["record"]["chosen"] == 0
    better = json.dumps({**state, "optimizer": "gepa", "record": {**state["record"], "chosen": 3}})
    file.write_text(better, encoding="utf-8")
    compile_answer()
    assert file.read_text(encoding="utf-8") == better
    assert str(file) in listener.messages[-1]
    file.write_text(better.replace(WEIGHTS, "v" * 64), encoding="utf-8")
    compile_answer()
    assert json.loads(file.read_text(encoding="utf-8")) == state


@pytest.mark.usefixtures("few_labels")
def test_tracked_compile_is_loaded_as_champion(
    compile_for: Any, compile_answer: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    compile_for()
    store = CompileStore(uri, tmp_path / "artifacts")
    with CompileRuns(lambda: store, pytest.fail) as runs:
        report, _ = compile_answer(started=runs.start)
        run_id = (runs.finish(report) or "").split()[0]
    parameters = store.client.get_run(run_id).data.params
    assert parameters == {name: str(value) for name, value in report.parameters.items()}
    assert parameters.items() >= {"budget": "8", "teacher": "", "optimizer": "labeled", "model_sha256": WEIGHTS}.items()
    with pytest.raises(InputError, match="no champion fits"):
        load_compiled("champion", StateConsumers("lm", None, "tiny", WEIGHTS))
    [version] = store.client.search_model_versions(f"run_id='{run_id}'")
    store.client.set_registered_model_alias(version.name, "champion", version.version)
    assert list(load_compiled("champion", StateConsumers("lm", None, "tiny", WEIGHTS)).states) == ["answer"]


@pytest.mark.usefixtures("few_labels")
def test_missing_requirements_raise_before_any_call(compile_for: Any, compiled: Compile, tmp_path: Path) -> None:
    engine = compile_for()
    for step, name, lack in (("reasoning", "labeled", "no example outputs"), ("answer", "mipro", "--teacher")):
        with pytest.raises(StrategyError, match=lack):
            compiled(step, optimizer=name, lm="tiny")
    options = CompileOptions(steps=("all",), lm="tiny", embedder="words", out=tmp_path)
    opened = resources.OpenedResources(options, [], Any, lambda *_: None)
    others = [step for step in COMPILABLE if step not in ("reasoning", "sound")]
    assert STRATEGIES["labeled"].steps_of(opened) == others
    assert STRATEGIES["reanchor"].steps_of(opened) == [
        *("agree", "chunk", "fits", "grounding", "judge", "panel", "premise", "relevance", "resolve", "same"),
    ]
    assert engine.calls == 0


@pytest.mark.usefixtures("few_labels")
def test_failing_model_ends_compile_and_finished_calls_are_kept(compile_for: Any, compile_answer: Compile) -> None:
    compile_for(7, RuntimeError("out of memory"))
    with pytest.raises(GroundsetError, match="out of memory"):
        compile_answer()
    engine = compile_for()
    report, _ = compile_answer()
    assert engine.calls == report.figures["calls"] - 6


@pytest.mark.model
@pytest.mark.usefixtures("few_labels")
def test_gepa_with_real_model(
    compiled: Compile, word_encoder: Any, shipped_sha256: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Embedding all labelled passages takes longer than the search.
    monkeypatch.setattr(resources, "load_embedder", lambda name: word_encoder(shipped_sha256))
    options = {"optimizer": "gepa", "lm": "smollm2-135m", "budget": 12}
    [(report, file)] = compiled("reasoning", sizes={"dev": 3, "test": 3}, **options)
    assert file.parent.name == "smollm2-135m"
    assert report.figures["completion_tokens"] > 0
    assert len(report.rows) == 9
    assert len(report.candidates) > 1


@pytest.mark.usefixtures("few_labels")
def test_panel_is_compiled_for_the_model_that_judges(
    compile_for: Any, compiled: Compile, tmp_path: Path, shipped_sha256: str
) -> None:
    engine, out = compile_for(), str(tmp_path / "out")
    [(report, file)] = compiled("panel", sizes={"dev": 12, "test": 20}, optimizer="labeled", lm="tiny", budget=8)
    assert file == tmp_path / "out" / "tiny" / "panel.json"
    assert engine.calls > report.figures["calls"], "its critic asks once more for a text that it cannot read"
    assert report.state.predictor["demos"], "those written by hand are a candidate"
    for used in (
        StateConsumers("head", shipped_sha256, "tiny", WEIGHTS),
        StateConsumers("verdict", None, "other", "v" * 64, None, "tiny", WEIGHTS),
    ):
        assert "panel" in load_compiled(out, used).predictors
    with pytest.raises(InputError, match="no states for tiny or other"):
        load_compiled(out, StateConsumers("verdict", None, "tiny", WEIGHTS, None, "other", "v" * 64))
