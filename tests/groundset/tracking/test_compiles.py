"""Compiles in real MLflow stores: a local file and an HTTP server."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import mlflow
import pytest

from groundset.compiling.compiler import environment
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.tracking.compiles import ROWS_FILE, CompileRuns, CompileStore, best_of
from groundset.tracking.location import display_uri, store_host
from groundset.tracking.promotion import promote
from groundset.tracking.runs import log_generation
from optimizers.measures import Interval, mean, mean_gain
from optimizers.report import CompileReport
from programs.critics.states import CompiledState, dspy_version, signature_hash
from programs.errors import InputError, PromotionError, StateError, TrackingError
from programs.steps import STEPS

STARTED = ("answer", "qwen/tiny:1b", "labeled", {"seed": 0})


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database of an empty store, because making its tables takes longer than most tests."""
    folder = tmp_path_factory.mktemp("empty")
    CompileStore(f"sqlite:///{folder / 'mlflow.db'}", folder)
    return folder / "mlflow.db"


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> CompileStore:
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return CompileStore(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "artifacts")


def report(before: float, dev: float, test: float, *, step: str = "answer", critic: bool = False) -> CompileReport:
    """Return a compile whose rows have almost the same scores."""
    rows: list[dict[str, Any]] = []
    for split, after in (("dev", dev), ("test", test)):
        for n in range(12):
            row = {"split": split, "id": f"{split}{n}", "before_score": before}
            row |= {"after_score": after + 0.02 * (n % 3 - 1)}
            if critic:
                row |= {"fit": n % 2 == 0, "before_probability": 0.1 + 0.05 * n, "after_probability": 0.9 - 0.05 * n}
            rows.append(row)
    values = {
        v: {s: [r[f"{v}_score"] for r in rows if r["split"] == s] for s in ("dev", "test")} for v in ("before", "after")
    }
    predict = STEPS["answer"].predictor()
    state = CompiledState(
        step=step, model="qwen/tiny:1b", optimizer="labeled", signature=signature_hash(predict.signature),
        dspy=dspy_version(), predictor=predict.dump_state(), record={"seed": 0},
    )  # fmt: skip
    return CompileReport(
        state=state,
        measures={
            **{
                version: {split: mean(found) for split, found in by_split.items()}
                for version, by_split in values.items()
            },
            "gain": {split: mean_gain(values["before"][split], values["after"][split]) for split in ("dev", "test")},
        },
        rows=rows,
        candidates=[{"number": 0, "dev": before, "demos": 3}, {"number": 1, "dev": dev, "demos": 6}],
        prompt="[system]\nAnswer.\n\n[user]\nQuestion: {{question}}",
        parameters={"seed": 0, "labels.x": "ab"},
        figures={"calls": 42, "seconds": 3.5},
    )


def log(store: CompileStore, made: CompileReport) -> str:
    """Log a report and return the run id."""
    with CompileRuns(lambda: store, pytest.fail) as runs:
        runs.start(made.state.step, made.state.model, made.state.optimizer, {"seed": 0})
        tracked = runs.finish(made)
    assert tracked is not None
    return tracked.split()[0].rstrip(",")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{tmp_path / 'server.db'}", "--artifacts-destination", str(tmp_path / "kept"),
    ]  # fmt: skip
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ, start_new_session=True)
        try:
            uri = f"http://127.0.0.1:{port}"
            for _ in range(240):
                try:
                    if httpx.get(f"{uri}/health", trust_env=False).status_code == 200:
                        break
                except httpx.HTTPError:
                    time.sleep(0.25)
            else:
                pytest.fail((tmp_path / "server.log").read_text(encoding="utf-8", errors="replace")[-2000:])
            yield uri
        finally:
            os.killpg(process.pid, 15)
            process.wait(20)


def check_life_cycle(store: CompileStore, folder: Path) -> None:
    first = log(store, report(0.3, 0.6, 0.6))
    name, gains = promote(store, first)
    assert name == "groundset-answer-qwen-tiny-1b"
    assert gains["dev"].low > 0.25
    [file] = store.champion_files(folder)
    assert file == folder / "qwen-tiny-1b" / "answer.json"
    assert CompiledState.model_validate_json(file.read_bytes()).record == {"seed": 0}
    better = log(store, report(0.3, 0.8, 0.7))
    promote(store, better)
    experiments = store.experiments()
    assert [(entry.run_id, entry.champion) for entry in experiments] == [(better, True), (first, False)]
    assert experiments[0].after["dev"] == pytest.approx(0.8)
    assert experiments[0].calls == 42


def test_compile_life_cycle_in_local_store(store: CompileStore, tmp_path: Path) -> None:
    check_life_cycle(store, tmp_path / "states")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"step": "../../x"}, "no step is called '../../x'"),
        ({"step": "answer/../../../x"}, "no step is called"),
        ({"model": ".."}, r"no model is called '\.\.'"),
        ({"predictor": {"lm": {"model": "openai/evil"}}}, "names a language model of its own"),
    ],
)
def test_champion_with_hostile_state_writes_no_files(
    store: CompileStore, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    run_id = log(store, report(0.3, 0.6, 0.6))
    promote(store, run_id)
    [file] = (tmp_path / "artifacts").rglob("state.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    before = {path for path in tmp_path.rglob("*") if path.suffix == ".json"}
    with pytest.raises(StateError, match=f"^the champion groundset-answer-qwen-tiny-1b in sqlite.*: {message}"):
        store.champion_files(tmp_path / "states" / "deep")
    assert {path for path in tmp_path.rglob("*") if path.suffix == ".json"} == before


def test_compile_life_cycle_on_http_server(server: str, tmp_path: Path) -> None:
    check_life_cycle(CompileStore(server, texts=True), tmp_path / "states")
    kept = {path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()}
    assert "state.json" in kept
    plain = CompileStore(server)
    run_id = log(plain, replace(report(0.3, 0.9, 0.9), parameters={"embedder": str(tmp_path)}))
    assert {path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()} == kept
    tags = mlflow.MlflowClient(server).get_run(run_id).data.tags
    assert set(tags) == {"step", "model", "optimizer", "ending", "mlflow.runName"}


@pytest.fixture
def remote(store: CompileStore) -> CompileStore:
    """The same store, treated as remote."""
    store.host, store.keeps_texts = "mlflow.example", False
    return store


def contents(store: CompileStore) -> str:
    """Return the repr of all runs, models, prompts and artifact names of a store."""
    client = mlflow.MlflowClient(store.uri)
    found = [*client.search_registered_models(), *mlflow.genai.search_prompts()]
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            files = [file.path for file in client.list_artifacts(run.info.run_id)]
            found.append((run.data.to_dictionary(), run.info.user_id, run.inputs.to_dictionary(), files))
    return repr(found)


def test_remote_store_gets_compile_texts_only_if_requested(remote: CompileStore, tmp_path: Path) -> None:
    made = replace(
        report(0.3, 0.6, 0.6, critic=True),
        parameters={"embedder": str(tmp_path / "mine"), "labels.x": "ab"},
        candidates=[{"number": 1, "dev": 0.6, "demos": 6, "instructions": "SECRET instructions"}],
        prompt="SECRET prompt",
    )
    run_id = log(remote, made)
    run = mlflow.MlflowClient(remote.uri).get_run(run_id)
    assert run.data.params == {"seed": "0", "embedder": "mine", "labels.x": "ab"}
    [entry] = remote.experiments()
    assert (entry.finished, entry.after["dev"]) == (True, pytest.approx(0.6))
    sent = contents(remote)
    mine = (str(tmp_path), getpass.getuser(), sys.argv[0])
    for secret in ("SECRET", "state.json", "predictions", *mine):
        assert secret not in sent
    with pytest.raises(PromotionError, match="--track-texts"):
        promote(remote, run_id)
    failed = remote.start_compile("answer", "tiny", "labeled", {})
    remote.end_compile(failed, RuntimeError("SECRET in /home/me"))
    assert [entry.error for entry in remote.experiments() if entry.run_id == failed] == ["RuntimeError"]
    remote.keeps_texts = True
    log(remote, made)
    sent = contents(remote)
    assert "state.json" in sent
    for secret in mine:
        assert secret not in sent


SAMPLE = {
    "id": "a", "question": "SECRET?", "answer": "I", "evolution": "simple", "language": "en", "probability": 0.5,
}  # fmt: skip


def make_record(folder: Path) -> Path:
    """Return a ``run.json`` with private paths and texts."""
    (folder / "samples.jsonl").write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
    names = (
        "accepted", "asked", "attempts", "calls", "prompt_tokens", "evaluated_tokens", "completion_tokens", "seconds",
        "chunks", "documents",
    )  # fmt: skip
    home = "/home/maria smith"
    configuration = {
        "documents": [f"{home}/contracts"],
        "chunks": f"{home}/chunks.jsonl",
        "lm": "openai/tiny@http://10.0.0.7:8000/v1",
        "embedder": f"{home}/embedder",
        "compiled": "~maria/compiled",
        "parser": "C:\\StateConsumers\\maria\\parser",
        "vector_store": f"qdrant:{home}/vectors",
        "recipe": "evolved",
        "size": 3,
    }
    record = {"configuration": configuration, "critic": "judge", "identity": "abc", **dict.fromkeys(names, 1)}
    record |= {"models": {"lm": {"name": "openai/tiny@server", "sha256": None}}}
    (folder / "run.json").write_text(json.dumps(record | {"compiled": {}, "versions": {}, "counts": {}}))
    return folder / "run.json"


def test_remote_store_gets_run_texts_only_if_requested(remote: CompileStore, tmp_path: Path) -> None:
    record = make_record(tmp_path)
    run_id = log_generation(record, remote)
    client = mlflow.MlflowClient(remote.uri)
    params = client.get_run(run_id).data.params
    assert params.items() >= {
        "lm": "openai/tiny@server", "embedder": "embedder", "compiled": "compiled", "parser": "parser",
        "vector_store": "qdrant:vectors", "recipe": "evolved", "size": "3",
    }.items()  # fmt: skip
    assert client.get_run(run_id).data.metrics["accepted"] == 1.0
    sent = contents(remote)
    for secret in ("SECRET", "maria", "contracts", "10.0.0.7", "samples", getpass.getuser(), sys.argv[0]):
        assert secret not in sent
    assert log_generation(record, remote) == run_id
    remote.keeps_texts = True
    assert log_generation(record, remote) == run_id, "samples are added to the same run"
    assert [file.path for file in client.list_artifacts(run_id)] == ["samples.jsonl"]
    assert "maria" not in contents(remote)


def test_remote_store_gets_no_address_of_a_vector_store(remote: CompileStore, tmp_path: Path) -> None:
    record = make_record(tmp_path)
    facts = json.loads(record.read_text())
    facts["configuration"]["vector_store"] = "qdrant:http://10.0.0.8:6333"
    record.write_text(json.dumps(facts))
    log_generation(record, remote)
    assert "10.0.0.8" not in contents(remote)


def test_local_store_gets_everything(store: CompileStore, tmp_path: Path) -> None:
    log(store, report(0.3, 0.6, 0.6))
    assert "state.json" in contents(store)
    run_id = log_generation(make_record(tmp_path), store)
    client = mlflow.MlflowClient(store.uri)
    assert [file.path for file in client.list_artifacts(run_id)] == ["samples.jsonl"]
    assert "contracts" in client.get_run(run_id).data.params["documents"]
    assert client.get_run(run_id).data.tags["mlflow.user"] == getpass.getuser()


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("sqlite:////home/me/mlflow.db", None),
        ("sqlite+pysqlite:///mlflow.db", None),
        ("file:///home/me/mlruns", None),
        ("file://share.example/mlruns", "share.example"),
        ("http://127.0.0.1:5000", "127.0.0.1:5000"),
        ("https://me:secret@mlflow.example/x", "mlflow.example"),
        ("postgresql://me:secret@db/x", "db"),
        ("postgresql://me:pa/ss@db.example/x", "db.example"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dhunter2", "mssql+pyodbc:///"),
        ("databricks", "databricks"),
    ],
)
def test_store_host(uri: str, host: str | None) -> None:
    assert store_host(uri) == host


def test_invalid_store_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@[::1")
    with pytest.raises(InputError, match=r"^MLFLOW_TRACKING_URI or --tracking: http://\[::1 "):
        CompileStore.open()


def test_log_figures(store: CompileStore) -> None:
    store.log_figures("judge-heads", "trees", {"seed": 0}, {"dev": {"auc": Interval(0.8, 0.7, 0.9)}})
    client = mlflow.MlflowClient(store.uri)
    experiment = client.get_experiment_by_name("groundset-judge-heads")
    [run] = client.search_runs([experiment.experiment_id])
    assert run.data.metrics == {"dev_auc": 0.8, "dev_auc_low": 0.7, "dev_auc_high": 0.9}
    assert run.data.params == {"seed": "0"}
    assert store.experiments() == []


def test_contents_of_a_compile_run(store: CompileStore) -> None:
    run_id = log(store, report(0.3, 0.6, 0.6, critic=True))
    client = mlflow.MlflowClient(store.uri)
    run = client.get_run(run_id)
    assert run.data.params == {"seed": "0", "labels.x": "ab"}
    assert run.data.metrics["after_dev"] == pytest.approx(0.6)
    assert run.data.metrics["gain_dev_low"] > 0
    names = {entry.path for entry in client.list_artifacts(run_id)}
    pictures = {"precision-recall.png", "calibration.png", "confusion.json"}
    assert names == {"state.json", "predictions.parquet", "prompt.txt", *pictures}
    file = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="confusion.json")
    # 12 test rows, those with even numbers good; 0.9 - 0.05 n is 0.5 or more for the first nine.
    assert json.loads(Path(file).read_text()) == {
        "good": {"accepted": 5, "refused": 1}, "bad": {"accepted": 4, "refused": 2},
    }  # fmt: skip
    children = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run_id}'")
    assert sorted(child.data.metrics["dev"] for child in children) == [0.3, 0.6]
    prompt = mlflow.genai.load_prompt("prompts:/groundset-answer-qwen-tiny-1b-prompt/1")
    assert prompt.template.endswith("Question: {{question}}")
    assert prompt.tags["run_id"] == run_id


def with_rows(made: CompileReport, change: Callable[[Any], dict[str, Any]]) -> CompileReport:
    return replace(made, rows=[{**row, **change(row)} for row in made.rows])


def test_promotion_needs_a_significant_gain(store: CompileStore) -> None:
    for before, match in ((0.6, "not significant"), (0.3, None)):
        first = log(store, report(before, 0.6, 0.6))
        if match:
            with pytest.raises(PromotionError, match=match):
                promote(store, first)
        else:
            promote(store, first)
    bad = with_rows(report(0.3, 0.9, 0.9), lambda row: {"after_score": float("nan")})
    for rival, match in (
        (log(store, report(0.3, 0.6, 0.9)), "not significant"),
        (log(store, bad), rf"{ROWS_FILE} of \w+ is damaged"),
        ("0" * 32, "no such compile"),
        (first, "champion already"),
    ):
        with pytest.raises(PromotionError, match=match):
            promote(store, rival)
    assert [entry.run_id for entry in store.experiments() if entry.champion] == [first]
    _, gains = promote(store, log(store, report(0.3, 0.9, 0.4)))
    assert gains["test"].value == pytest.approx(-0.2), "test rows do not matter"


def test_promotion_corrects_for_many_candidates(store: CompileStore) -> None:
    def of(tried: int) -> str:
        made = report(0.3, 0.5, 0.5)
        rows = with_rows(made, lambda row: {"after_score": 0.1 if int(row["id"][-1]) % 5 == 0 else 0.6})
        return log(store, replace(rows, figures={"tried": tried}))

    with pytest.raises(PromotionError, match="best of 40 candidates"):
        promote(store, of(40))
    promote(store, of(1))


def test_damaged_state_is_not_promoted(store: CompileStore) -> None:
    made = report(0.3, 0.9, 0.9)
    odd = made.state.model_copy(update={"predictor": {**made.state.predictor, "demos": [7]}})
    with pytest.raises(StateError, match=r"state\.json of \w+ in .*predictor\.demos\.0"):
        promote(store, log(store, replace(made, state=odd)))
    with pytest.raises(InputError, match="no champion"):
        load_compiled("champion", StateConsumers("lm", None, "qwen/tiny:1b", None), store.uri)


def test_promotion_needs_the_same_weights(store: CompileStore) -> None:
    def made_for(weights: str, dev: float) -> str:
        made = report(0.3, dev, dev)
        return log(store, replace(made, parameters={**made.parameters, "model_sha256": weights}))

    champion = made_for("a" * 64, 0.6)
    promote(store, champion)
    with pytest.raises(PromotionError, match=f"compiled for other weights than the champion {champion}"):
        promote(store, made_for("b" * 64, 0.9))
    promote(store, made_for("a" * 64, 0.9))


def test_best_of(store: CompileStore) -> None:
    runs = [log(store, report(0.1, dev, dev)) for dev in (0.5, 0.7, 0.9)]
    promote(store, runs[0])
    made = report(0.3, 0.95, 0.95)
    finetuned = log(store, replace(made, state=made.state.model_copy(update={"optimizer": "finetune"})))
    log(store, report(0.7, 0.8, 0.8))
    assert {entry.run_id for entry in best_of(store.experiments(), 1)} == {runs[2], runs[0], finetuned}


def test_promotion_needs_common_dev_rows(store: CompileStore) -> None:
    champion = log(store, report(0.3, 0.6, 0.6))
    promote(store, champion)
    made = report(0.3, 0.8, 0.8)
    finetuned = replace(made, state=made.state.model_copy(update={"optimizer": "finetune"}))
    rival = log(store, with_rows(finetuned, lambda row: {"id": f"{row['id']}/gold"}))
    with pytest.raises(PromotionError, match=rf"{rival} \(finetune\) and the champion {champion} \(labeled\) .*alias"):
        promote(store, rival)


def test_experiments_reads_all_pages(store: CompileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {log(store, report(0.3, 0.6, 0.6)) for _ in range(3)}
    search = store.client.search_runs
    monkeypatch.setattr(store.client, "search_runs", lambda *args, **kwargs: search(*args, **kwargs, max_results=2))
    assert {entry.run_id for entry in store.experiments()} == runs


def test_generated_run_is_logged_once_and_not_promoted(store: CompileStore, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
    run_id = store.log_run("demo", "key", {"size": 1}, {"accepted": 1.0}, samples)
    assert store.log_run("demo", "key", {"size": 1}, {"accepted": 1.0}, samples) == run_id
    run = mlflow.MlflowClient(store.uri).get_run(run_id)
    assert run.data.metrics == {"accepted": 1.0}
    assert run.inputs.dataset_inputs[0].dataset.name == "demo"
    assert store.experiments() == []
    refused = f"^{run_id} is a run of `groundset generate`"
    with pytest.raises(PromotionError, match=f"{refused}.* no compiles yet$"):
        promote(store, run_id)
    compiles = []
    for _ in range(4):
        compiles.append(log(store, report(0.3, 0.6, 0.6)))
        time.sleep(0.002)
    newest = ", ".join(rf"answer for qwen/tiny:1b \({run}\)" for run in reversed(compiles[1:]))
    with pytest.raises(PromotionError, match=f"{refused}.*{newest}"):
        promote(store, run_id)


def test_unreachable_store() -> None:
    with pytest.raises(TrackingError, match="tracking store sqlite") as raised:
        CompileStore("sqlite:////dev/null/mlflow.db").experiments()
    assert "/dev/null" in str(raised.value)
    uri = "postgresql://me:secret@localhost:1/x"
    with pytest.raises(TrackingError) as raised:
        CompileStore(uri).experiments()
    assert "secret" not in str(raised.value)


def test_running_compile_is_logged(store: CompileStore) -> None:
    client = mlflow.MlflowClient(store.uri)
    with CompileRuns(lambda: store, pytest.fail) as runs:
        runs.start(*STARTED)
        [entry] = store.experiments()
        run = client.get_run(entry.run_id)
        assert (entry.status, entry.step, entry.model, entry.optimizer) == ("RUNNING", *STARTED[:3])
        assert run.data.params == {"seed": "0"}
        assert run.data.tags["mlflow.source.type"] == "LOCAL", "has the tags of MLflow"
        with pytest.raises(PromotionError, match=f"{entry.run_id}: .*did not finish \\(running\\)"):
            promote(store, entry.run_id)
        assert runs.finish(report(0.3, 0.6, 0.6)) == f"{entry.run_id} in {display_uri(store.uri)}"
    [entry] = store.experiments()
    assert entry.finished
    run = client.get_run(entry.run_id)
    assert run.info.end_time >= run.info.start_time
    assert run.data.params == {"seed": "0", "labels.x": "ab"}


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (RuntimeError("no memory\nat http://me:secret@host/x"), "FAILED", "RuntimeError: no memory at http://host/x"),
        (KeyboardInterrupt(), "KILLED", ""),
    ],
)
def test_failed_and_killed_compiles(store: CompileStore, error: BaseException, status: str, reason: str) -> None:
    with suppress(type(error)), CompileRuns(lambda: store, pytest.fail) as runs:
        for step in ("answer", "question"):
            runs.start(step, *STARTED[1:])
        assert runs.finish(report(0.3, 0.6, 0.6)) is not None
        raise error
    finished, ended = sorted(store.experiments(), key=lambda entry: entry.step)
    assert (finished.step, finished.finished) == ("answer", True)
    assert (ended.step, ended.status, ended.error) == ("question", status, reason)
    assert best_of(store.experiments(), 3) == [finished]
    with pytest.raises(PromotionError, match=f"did not finish \\({status.lower()}.*{reason}"):
        promote(store, ended.run_id)


@pytest.mark.parametrize("critic", [False, True])  # one that was interrupted has no test rows to draw
def test_interrupted_compile_is_logged_and_not_promoted(store: CompileStore, critic: bool) -> None:
    made = report(0.3, 0.6, 0.6, critic=critic)
    dev = [row for row in made.rows if row["split"] == "dev"]
    run_id = log(store, replace(made, rows=dev, ending="interrupted"))
    [entry] = store.experiments()
    assert (entry.status, entry.error, entry.after["dev"]) == ("KILLED", "", pytest.approx(0.6))
    assert "state.json" in {file.path for file in mlflow.MlflowClient(store.uri).list_artifacts(run_id)}
    with pytest.raises(PromotionError, match=r"did not finish \(killed\)"):
        promote(store, run_id)


def test_label_file_names_with_special_characters(store: CompileStore) -> None:
    made = report(0.3, 0.6, 0.6)
    state = made.state.model_copy(update={"record": {"labels": [{"file": "labels (1)+a.jsonl", "sha256": "ab"}]}})
    run_id = log(store, replace(made, state=state, parameters=environment(state)))
    assert store.client.get_run(run_id).data.params["labels.labels _1__a.jsonl"] == "ab"


def test_report_that_cannot_be_logged(store: CompileStore, tmp_path: Path) -> None:
    warnings: list[str] = []
    with CompileRuns(lambda: store, lambda error: warnings.append(str(error))) as runs:
        runs.start(*STARTED)
        assert runs.finish(replace(report(0.3, 0.6, 0.6), files=[tmp_path / "gone.gguf"])) is None
    [entry] = store.experiments()
    assert entry.status == "FAILED"
    assert warnings == [entry.error]
    assert "gone.gguf" in entry.error


@pytest.mark.parametrize("raised", [None, InputError("no folder"), TrackingError("no store")])
def test_store_that_does_not_open_is_reported_once(raised: Exception | None) -> None:
    warnings: list[Exception] = []

    def no_store() -> CompileStore:
        assert raised is not None
        raise raised

    with CompileRuns(no_store if raised else None, warnings.append) as runs:
        runs.start(*STARTED)
        runs.start("question", *STARTED[1:])
        assert runs.finish(report(0.3, 0.6, 0.6)) is None
    assert warnings == [raised] * bool(raised)
