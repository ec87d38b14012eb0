"""Runs and compiles in a real MLflow store: a SQLite file."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dspy
import mlflow
import pytest
from evaluation_sets import chunk, sample
from mlflow.entities.trace_location import MlflowExperimentLocation
from refusal import refuses
from scripted import scripted_lm

from groundset import tracking
from groundset.compile_report import Report
from groundset.optimizers.prompts import Candidate
from groundset.programs.errors import StateError, TrackingError
from groundset.programs.heads import HeadJudge, LinearHead, StepHeads
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import step
from groundset.programs.types import Reject
from groundset.run.compiled import read_own
from groundset.run.given import read_questions
from groundset.run.options import GenerateOptions
from groundset.run.run import Run
from groundset.run.tracked import log_run
from groundset.tracking import Location, Tracking, location

SAMPLE = sample("s1", chunk("c1", "Oak.\u2028And stone."), question="What is it made of?")
RECORD = {
    "status": "complete",
    "started": "2026-01-01T10:00:00+00:00",
    "ended": "2026-01-01T10:02:58+00:00",
    "asked": 2,
    "accepted": 1,
    "attempts": 3,
    "calls": 12,
    "prompt_tokens": 900,
    "seconds": 4.5,
    "counts": {"judge": {"tried": 3, "refused": 2}},
    "configuration": {
        "recipe": "evolved",
        "documents": ["/home/ada/secret"],
        "like": ["a query"],
        "about": "a text",
    },
    "models": {"lm": {"name": "qwen", "sha256": "ab"}},
    "compiled": {
        "which": "prompts:/judge@champion",
        "steps": {"judge": "cd" * 32, "ask": "ef" * 32},
        "prompts": {"judge": "prompts:/groundset-judge-m/1"},
    },
}


def compiled(*files, **values):
    predictor = dspy.Predict(dspy.Signature("question -> answer", "Judge."))
    predictor.name = "judge"
    given = {"figures": {"gain_test": 0.1}, "files": list(files), "program": predictor}
    return Report("judge", "qwen/0.5b:x", "gepa", **(given | values))


def log(store, report, **parameters):
    return store.log(report.entry(parameters, Path("out")))


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Path:
    """An empty database: making its tables takes longer than most tests."""
    folder = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI")
        Tracking(str(folder)).client.search_experiments()
    return folder / "mlflow.db"


@pytest.fixture
def store(tmp_path, empty, monkeypatch) -> Iterator[Tracking]:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    (tmp_path / "store").mkdir()
    shutil.copy(empty, tmp_path / "store")
    yield Tracking(str(tmp_path / "store"))
    mlflow.clear_active_model()


@pytest.fixture
def run(tmp_path) -> Run:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "samples.jsonl").write_text(SAMPLE.model_dump_json() + "\n", "utf-8")
    (folder / "run.json").write_text("{}", "utf-8")
    return Run(
        folder, samples=(SAMPLE,), rejects=(Reject(step="judge", reason="x"),), record=dict(RECORD)
    )


def logged(store, line):
    """Return the run of MLflow that a line names."""
    return store.client.get_run(line.split()[2])


def artifacts(store, line, path=None):
    return {file.path for file in store.client.list_artifacts(line.split()[2], path)}


def test_run_with_figures_parameters_and_a_dataset_with_contexts(store, run):
    line = log_run(run, store)
    found = logged(store, line)
    assert line == f"MLflow run {found.info.run_id} in {store.where}"
    assert found.data.metrics["calls_per_sample"] == 12
    assert found.data.metrics.keys() >= {
        "accepted",
        "prompt_tokens",
        "found_first",
        "rejects",
    }
    assert found.data.metrics["refused_by_judge"] == 2
    assert len(found.data.metrics) < 25
    assert (
        found.data.params.items()
        >= {
            "recipe": "evolved",
            "lm": "qwen",
            "compiled_steps": "judge, ask",
            "state.judge": "cd" * 32,
            "prompt.judge": "prompts:/groundset-judge-m/1",
            "prompt.ask": "not registered",
        }.items()
    )
    assert found.info.end_time - found.info.start_time == 178_000
    assert json.loads(found.data.tags["mlflow.linkedPrompts"]) == [
        {"name": "groundset-judge-m", "version": "1"}
    ]
    (dataset,) = found.inputs.dataset_inputs
    assert '"rows":1' in dataset.dataset.source.replace(" ", "")
    assert artifacts(store, line) == {"samples.jsonl", "run.json"}
    assert found.info.status == "FINISHED"


def test_run_that_grew_is_the_same_run_of_mlflow(store, run):
    before = log_run(run, store)
    run.record.update(accepted=2, calls=20)
    assert log_run(run, store) == before
    found = logged(store, before).data
    assert found.metrics["accepted"] == 2
    assert found.params["recipe"] == "evolved"
    experiment = store.client.get_experiment_by_name("groundset-generate")
    assert len(store.client.search_runs([experiment.experiment_id])) == 1


def test_a_local_store_sends_nothing_away(store, run):
    elsewhere = "http://127.0.0.1:9/api/2.0/mlflow-artifacts/artifacts/x"
    change = f"UPDATE runs SET artifact_uri = '{elsewhere}'"
    log_run(run, store)
    with closing(
        sqlite3.connect(store.where.uri.removeprefix("sqlite:///"), isolation_level=None)
    ) as database:
        for number, crafted in enumerate(
            (
                f"CREATE TRIGGER t AFTER INSERT ON metrics BEGIN {change}; END",
                f"UPDATE experiments SET artifact_location = '{elsewhere}'",
            )
        ):
            database.execute(crafted)
            run.record["started"] = f"2025-01-0{number + 1}"
            with refuses("would send files elsewhere", TrackingError):
                log_run(run, store)
            with refuses("would send files elsewhere", TrackingError):
                log(store, compiled(Path(__file__)))


ROWS = {
    split: [dspy.Example(id=name, question="Who?", answer="Ada").with_inputs("question")]
    for split, name in (("train", "a"), ("dev", "b"), ("test", "c"))
}


def test_compile_with_labels_candidates_model_and_linked_prompts(store, tmp_path):
    state = tmp_path / "judge.json"
    state.write_text("{}", "utf-8")
    better = Candidate(1, {"judge": {"demos": []}}, {"a": 1, "b": 0.5})
    candidates = [Candidate(0, {}, {"b": 0.25}), better, Candidate(2, {}, {"a": 0})]
    report = compiled(state, candidates=candidates, rows=ROWS, better=True)
    report.started = datetime.now(UTC) - timedelta(seconds=178)
    lines = [log(store, report, seed=0) for _ in range(2)]
    assert lines[0] == lines[1], "a compile that goes on stays one run, and registers once"
    found = logged(store, lines[0])
    curves = {
        name: [
            (each.step, each.value)
            for each in store.client.get_metric_history(found.info.run_id, name)
        ]
        for name in ("candidate_dev", "candidate_train")
    }
    assert curves["candidate_dev"][:2] == [(0, 0.25), (1, 0.5)]
    assert curves["candidate_train"][:2] == [(1, 1), (2, 0)]
    assert found.data.tags.items() >= {"better": "yes", "ending": "complete"}.items()
    assert found.info.end_time - found.info.start_time >= 178_000
    inputs = {each.tags[0].value: each.dataset for each in found.inputs.dataset_inputs}
    assert inputs.keys() == ROWS.keys()
    assert len({each.digest for each in inputs.values()}) == 3
    assert len(artifacts(store, lines[0], "candidates")) == 3
    prompt = store.client.get_prompt_version("groundset-judge-qwen-0.5b-x", "1")
    assert prompt.tags["run_id"] == found.info.run_id
    assert json.loads(found.data.tags["mlflow.linkedPrompts"]) == [
        {"name": prompt.name, "version": "1"}
    ]
    experiment = found.info.experiment_id
    assert store.client.get_prompt(prompt.name).tags["_mlflow_experiment_ids"] == f",{experiment},"


def test_what_is_not_better_or_interrupted_is_tagged_and_not_registered(store):
    worse = logged(store, log(store, compiled(better=False)))
    killed = logged(store, log(store, compiled(ending="interrupted")))
    assert worse.data.tags["better"] == "no"
    assert killed.info.status == "KILLED"
    assert killed.data.tags["ending"] == "interrupted"
    assert not store.client.search_prompts()


def test_registered_prompts_are_read_back_as_states(store):
    for name in ("judge", "ask"):
        predictor = step(name, temperature=0.5)
        predictor.signature = predictor.signature.with_instructions(f"{name} like an “owl”.")
        predictor.demos = [dspy.Example(passage="p", question="q?", clear=True, kind="fact")]
        log(store, Report(name, "m", "gepa", files=[Path(__file__)], program=predictor))
    store.client.set_prompt_alias("groundset-judge-m", "champion", 1)
    program, where = OneChunk(), str(store.where)
    own = read_own("prompts:/groundset-judge-m@champion,prompts:/groundset-ask-m/1", where)
    own.apply([program])
    assert own.prompts == {name: f"prompts:/groundset-{name}-m/1" for name in ("judge", "ask")}
    assert program.judge.signature.instructions == "judge like an “owl”."
    assert program.judge.config["temperature"] == 0.5
    assert program.judge.demos == [{"passage": "p", "question": "q?", "clear": True}]
    assert program.ask.signature.instructions == "ask like an “owl”."
    store.client.register_prompt("groundset-ask-m", "edited by hand")
    with refuses(r"^--compiled prompts:/groundset-ask-m/2: .* none with a state of D", StateError):
        read_own("prompts:/groundset-ask-m/2", where)
    for missing in ("judge", "judge/1", "groundset-ask-m/3", "groundset-ask-m@champion"):
        with refuses(r"^(--compiled|tracking store) [^\n]*$", (StateError, TrackingError)):
            read_own(f"prompts:/{missing}", where)


@pytest.mark.filterwarnings("ignore:.*Any type hint")  # of MLflow, when it is imported
def test_spans_have_the_names_of_steps_tokens_and_heads(store, word_encoder):
    lm, _ = scripted_lm({"ask": "Question: none"})
    head = LinearHead(weights={}, bias=2.0)
    heads = StepHeads(step="judge", embedder="0" * 64, threshold=0.5, heads={"fit": head})
    dspy.configure(lm=lm)
    with store._guarded():
        mlflow.dspy.autolog()
        traces = []
        for called in (step("ask"), HeadJudge("judge", heads, word_encoder())):
            called(passage="It is red.", question="Which?")
            mlflow.flush_trace_async_logging()
            traces.append(mlflow.get_trace(mlflow.get_last_active_trace_id()))
        mlflow.dspy.autolog(disable=True)
    asked, judged = (trace.data.spans[0] for trace in traces)
    assert asked.name == "ask.forward"
    assert asked.get_attribute("mlflow.chat.tokenUsage")["output_tokens"] == 2
    assert (judged.span_type, judged.get_attribute("step")) == ("HEAD", "judge")


def test_servers_get_figures_only_unless_texts_are_asked_for(store, run, monkeypatch):
    store.where, store.texts = store.where._replace(host="mlflow.example"), False
    line = log_run(run, store)
    found = logged(store, line)
    assert line.endswith("(figures only; --track-texts sends texts to mlflow.example)")
    assert not artifacts(store, line)
    assert "made of" not in str(found.inputs.to_dictionary())
    assert not {"documents", "like", "about"} & found.data.params.keys()
    assert "mlflow.user" not in found.data.tags
    parameters = {"out": "/home/ada/compiled", "weights": "./models/tiny.gguf"}
    line = log(store, compiled(Path("judge.json")), **parameters)
    shown = {"model": "qwen/0.5b:x", "out": "compiled", "weights": "tiny.gguf"}
    assert logged(store, line).data.params == shown
    assert not store.client.search_prompts()


def test_the_uri_and_the_active_run_and_model_of_a_notebook_stay(store, run, tmp_path):
    before = mlflow.get_tracking_uri()
    with store._guarded():
        mlflow.set_active_model(model_id=store.client.create_logged_model("0").model_id)
    store = Tracking(str(tmp_path / "other"))
    log_run(run, store)
    assert mlflow.get_tracking_uri() == before
    assert mlflow.active_run() is None
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


@pytest.mark.filterwarnings("ignore")  # MLflow traces nothing where its own warnings are errors
def test_traces_give_what_they_asked_and_nothing_else(store, tmp_path, status_of, capsys):
    first, later = ({"role": "user", "content": text} for text in ("tap drips", "and then?"))
    asked = (
        {"question": "why is my\nbill so high", "k": 5},
        {"messages": [{"role": "system", "content": "Be kind."}, first]},
        {"messages": [first, {"role": "assistant", "content": "Close it."}, later]},
        {"k": 3},
        "x" * 600,
    )
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(store.where.uri)
    bot = MlflowExperimentLocation(store.client.create_experiment("support bot"))
    try:
        for inputs in asked:
            chat = mlflow.start_span("chat", trace_destination=bot)
            with chat as root, mlflow.start_span("search") as inner:
                root.set_inputs(inputs)
                inner.set_inputs({"question": "a rewritten one"})
                root.set_outputs("a secret answer")
        mlflow.flush_trace_async_logging()
    finally:
        mlflow.set_tracking_uri(before)
    traces = f"{store.where.uri}#support bot"
    texts = (first["content"], "why is my bill so high")
    assert read_questions(traces) == dict.fromkeys(("x" * 600, *texts), 1)
    options = GenerateOptions.parse({"users": traces, "documents": (".",), "out": tmp_path / "r"})
    assert options.like == texts
    own = {"questions": traces.replace(":///", "://ada:secret@/"), "documents": (".",)}
    assert "secret" not in str(GenerateOptions.parse({**own, "out": "r"}).model_dump())
    command = ("generate", ".", "--out", tmp_path / "r", "--no-track", "--questions")
    assert status_of(*command, f"{store.where.uri}#nowhere") == 2
    assert "there is no experiment nowhere" in capsys.readouterr().err
    assert status_of(*command, f"sqlite:///{tmp_path}/none.db#x") == 2
    assert f"there is no database {tmp_path}/none.db" in capsys.readouterr().err


def test_where_things_are_tracked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ada:secret@mlflow.example/x?key=1")
    assert location("https://own.example").host == "own.example"
    assert str(location()) == "http://mlflow.example/x"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    assert str(location()) == str(tmp_path / "home" / "mlruns")
    (tmp_path / "mlruns").mkdir()
    assert location() == Location(
        f"sqlite:///{tmp_path}/mlruns/mlflow.db", tmp_path / "mlruns" / "artifacts"
    )
    monkeypatch.setattr(
        os, "getuid", lambda: Path("mlruns").stat().st_uid + 1
    )  # another user could read it
    assert str(location()) == str(tmp_path / "home" / "mlruns")
    assert location("sqlite:///own.db") == Location("sqlite:///own.db", Path("artifacts"))
    assert str(location(str(tmp_path / "own"))) == str(tmp_path / "own")
    with refuses(r"--tracking or MLFLOW_TRACKING_URI: http://\[x is not an address"):
        location("http://[x")
    (tmp_path / "file").write_text("")
    with refuses(r"--tracking file/store: Not a directory"):
        location("file/store")


def test_store_that_fails_is_named_without_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ada:secret@127.0.0.1:9")
    monkeypatch.setitem(tracking._PATIENCE, "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", raising=False)
    store = Tracking()
    with refuses("^tracking store http://127.0.0.1:9: ", TrackingError) as failed:
        log(store, compiled())
    assert "secret" not in str(failed.value)
