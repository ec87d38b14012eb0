"""Compiling for a language model: states in a folder, calls paid once, and a run that uses the states."""

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
# Before on dev, two candidates there, both on train and on test. Two prompts are the same as before and cost nothing:
# no demo of the language of their rows was drawn.
CALLS = 4 + 2 * 4 + 4 + 4 - 2

Compile = Callable[..., Any]


@pytest.mark.usefixtures("few_chunks")
def test_a_model_that_cannot_be_opened_leaves_nothing(
    compile_for: Any, compile_answer: Compile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def open_model(spec: str, **options: Any) -> Any:
        raise UnreachableModelError("gone")

    compile_for()
    monkeypatch.setattr(resources, "open_lm", open_model)
    with pytest.raises(UnreachableModelError):
        compile_answer()
    assert not (tmp_path / "out").exists()


def test_a_compile_leaves_a_state_that_a_run_finds_by_its_weights(
    compile_for: Any, compile_answer: Compile, ear: Any, tmp_path: Path, shipped_sha256: str
) -> None:
    engine, out = compile_for(), str(tmp_path / "out")
    report, file = compile_answer()
    assert file == tmp_path / "out" / "tiny" / "answer.json"
    assert ear.expected == 28
    assert ear.calls == report.figures["calls"] == engine.calls == CALLS
    assert report.state.record["rows"]["train"] > 100
    assert load_compiled(out, StateConsumers("lm", None, "tiny", WEIGHTS)).record()["answer"] == {
        "model": "tiny",
        "optimizer": "labeled",
    }
    with pytest.raises(InputError, match="other weights of --lm"):
        load_compiled(out, StateConsumers("lm", None, "tiny", "v" * 64))
    with pytest.raises(InputError, match="none of which fits head and other"):
        load_compiled(out, StateConsumers("head", shipped_sha256, "other", WEIGHTS))
    first = file.read_bytes()
    assert compile_answer()[1].read_bytes() == first
    assert engine.calls == CALLS, "no call is paid twice"


def test_gold_rows_of_the_user_count_and_all_files_are_on_record(
    compile_for: Any, compiled: Compile, tmp_path: Path
) -> None:
    compile_for()
    own = tmp_path / "mine.jsonl"
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
    own.write_text(f"{json.dumps(chunk)}\n{json.dumps(gold)}\n", encoding="utf-8")
    records = []
    for labels in ((), (str(own),)):
        options = {"optimizer": "labeled", "lm": "tiny", "budget": 4, "labels": labels}
        [(report, _)] = compiled("rewrite", sizes={"dev": 2, "test": 2}, **options)
        records.append(report.state.record)
        assert {f"gold.{name}.jsonl" for name in ("rewrite", "chunks")} <= report.parameters.keys()
    assert records[1]["rows"]["train"] == records[0]["rows"]["train"] + 1
    assert records[1]["labels"] == [*records[0]["labels"], *hashes_of([own])]
    assert records[1]["gold"] == hashes_of([data_path("gold", row["file"]) for row in records[1]["gold"]])


@pytest.mark.usefixtures("few_chunks")
def test_a_compile_that_finds_nothing_leaves_what_was_found_before(
    compile_for: Any, compile_answer: Compile, ear: Any
) -> None:
    compile_for()
    file = compile_answer()[1]
    state = json.loads(file.read_text(encoding="utf-8"))
    assert state["record"]["chosen"] == 0
    better = json.dumps({**state, "optimizer": "gepa", "record": {**state["record"], "chosen": 3}})
    file.write_text(better, encoding="utf-8")
    compile_answer()
    assert file.read_text(encoding="utf-8") == better
    assert str(file) in ear.messages[-1]
    file.write_text(better.replace(WEIGHTS, "v" * 64), encoding="utf-8")
    compile_answer()
    assert json.loads(file.read_text(encoding="utf-8")) == state, "what was found for other weights is none"


@pytest.mark.usefixtures("few_chunks")
def test_a_compile_is_tracked_and_its_champion_is_what_runs_use(
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


@pytest.mark.usefixtures("few_chunks")
def test_what_a_strategy_lacks_is_said_before_any_call(compile_for: Any, compiled: Compile, tmp_path: Path) -> None:
    engine = compile_for()
    for step, name, lack in (("reasoning", "labeled", "no example outputs"), ("answer", "mipro", "--teacher")):
        with pytest.raises(StrategyError, match=lack):
            compiled(step, optimizer=name, lm="tiny")
    options = CompileOptions(steps=("all",), lm="tiny", embedder="words", out=tmp_path)
    opened = resources.OpenedResources(options, [], Any, lambda *_: None)
    others = [step for step in COMPILABLE if step not in ("reasoning", "sound")]
    assert STRATEGIES["labeled"].steps_of(opened) == others
    assert STRATEGIES["reanchor"].steps_of(opened) == ["agree", "chunk", "grounding", "judge", "same"]
    assert engine.calls == 0


@pytest.mark.usefixtures("few_chunks")
def test_a_model_that_fails_ends_the_compile_and_what_was_paid_for_is_kept(
    compile_for: Any, compile_answer: Compile
) -> None:
    compile_for(7, RuntimeError("out of memory"))
    with pytest.raises(GroundsetError, match="out of memory"):
        compile_answer()
    engine = compile_for()
    report, _ = compile_answer()
    assert engine.calls == report.figures["calls"] - 6


@pytest.mark.model
@pytest.mark.usefixtures("few_chunks")
def test_a_real_model_is_compiled_for(compiled: Compile) -> None:
    options = {"optimizer": "gepa", "lm": "smollm2-135m", "embedder": "all-minilm-l6-v2", "budget": 12}
    [(report, file)] = compiled("reasoning", sizes={"dev": 3, "test": 3}, **options)
    assert file.parent.name == "smollm2-135m"
    assert report.figures["completion_tokens"] > 0
    assert len(report.rows) == 9
    assert len(report.candidates) > 1, "the pool of instructions was drawn from"
