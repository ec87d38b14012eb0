"""Compiles in a real MLflow store: in a file, and on a tracking server over HTTP."""

import dataclasses
import getpass
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import mlflow
import pandas as pd
import pytest
from compile_reports import log, report

from groundset.engine.states import Users, load_compiled
from groundset.tracking.compiles import CompileStore, best_of
from groundset.tracking.place import store_host
from groundset.tracking.promotion import promote
from groundset.tracking.runs import log_generation
from optimizers.measures import Interval
from programs.critics.states import CompiledState
from programs.errors import InputError, PromotionError, StateError, TrackingError


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


def check_a_whole_life(store: CompileStore, folder: Path) -> None:
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
    assert [(each.run_id, each.champion) for each in experiments] == [(better, True), (first, False)]
    assert experiments[0].after["dev"] == pytest.approx(0.8)
    assert experiments[0].calls == 42


def test_a_compile_is_logged_promoted_and_fetched(store: CompileStore, tmp_path: Path) -> None:
    check_a_whole_life(store, tmp_path / "states")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"step": "../../x"}, "no step is called '../../x'"),
        ({"step": "answer/../../../x"}, "no step is called"),
        ({"model": ".."}, r"no model is called '\.\.'"),
        ({"predictor": {"lm": {"model": "openai/evil"}}}, "names a language model of its own"),
    ],
)
def test_a_champion_is_never_written_outside_of_its_folder(
    store: CompileStore, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    run_id = log(store, report(0.3, 0.6, 0.6))
    promote(store, run_id)
    [file] = (tmp_path / "artifacts").rglob("state.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    before = {path for path in tmp_path.rglob("*") if path.suffix == ".json"}
    with pytest.raises(StateError, match=f"^the champion groundset-answer-qwen-tiny-1b in sqlite.*: {said}"):
        store.champion_files(tmp_path / "states" / "deep")
    assert {path for path in tmp_path.rglob("*") if path.suffix == ".json"} == before


def test_a_tracking_server_over_http_does_the_same(server: str, tmp_path: Path) -> None:
    check_a_whole_life(CompileStore(server, texts=True), tmp_path / "states")
    kept = {path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()}
    assert "state.json" in kept
    plain = CompileStore(server)
    run_id = log(plain, dataclasses.replace(report(0.3, 0.9, 0.9), parameters={"embedder": str(tmp_path)}))
    assert {path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()} == kept
    tags = mlflow.MlflowClient(server).get_run(run_id).data.tags
    assert set(tags) == {"step", "model", "optimizer", "ending", "mlflow.runName"}


@pytest.fixture
def elsewhere(store: CompileStore) -> CompileStore:
    """The same store as if another machine kept it."""
    store.host, store.keeps_texts = "mlflow.example", False
    return store


def all_told(store: CompileStore) -> str:
    """Return everything that a store was told of its runs and prompts, and the names of files that it got."""
    client = mlflow.MlflowClient(store.uri)
    found = [*client.search_registered_models(), *mlflow.genai.search_prompts()]
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            files = [file.path for file in client.list_artifacts(run.info.run_id)]
            found.append((run.data.to_dictionary(), run.info.user_id, run.inputs.to_dictionary(), files))
    return repr(found)


def test_another_machine_gets_the_figures_of_a_compile_and_no_texts(elsewhere: CompileStore, tmp_path: Path) -> None:
    made = dataclasses.replace(
        report(0.3, 0.6, 0.6, critic=True),
        parameters={"embedder": str(tmp_path / "mine"), "labels.x": "ab"},
        candidates=[{"number": 1, "dev": 0.6, "demos": 6, "instructions": "SECRET instructions"}],
    )
    run_id = log(elsewhere, dataclasses.replace(made, prompt="SECRET prompt"))
    run = mlflow.MlflowClient(elsewhere.uri).get_run(run_id)
    assert run.data.params == {"seed": "0", "embedder": "mine", "labels.x": "ab"}
    assert run.data.metrics["after_dev"] == pytest.approx(0.6)
    [entry] = elsewhere.experiments()
    assert (entry.finished, entry.after["dev"]) == (True, pytest.approx(0.6))
    told = all_told(elsewhere)
    for secret in ("SECRET", str(tmp_path), getpass.getuser(), "state.json", "predictions", sys.argv[0]):
        assert secret not in told
    with pytest.raises(PromotionError, match=r"was not sent to the store: compile it again with --track-texts\.$"):
        promote(elsewhere, run_id)


def test_another_machine_gets_only_the_kind_of_an_error(elsewhere: CompileStore) -> None:
    run_id = elsewhere.start_compile("answer", "tiny", "labeled", {})
    elsewhere.end_compile(run_id, RuntimeError("SECRET in /home/me"))
    [entry] = elsewhere.experiments()
    assert entry.error == "RuntimeError"


def test_another_machine_gets_the_texts_that_were_asked_for_and_no_paths(
    elsewhere: CompileStore, tmp_path: Path
) -> None:
    elsewhere.keeps_texts = True
    log(elsewhere, dataclasses.replace(report(0.3, 0.6, 0.6), parameters={"embedder": str(tmp_path / "mine")}))
    told = all_told(elsewhere)
    assert "state.json" in told
    for secret in (str(tmp_path), getpass.getuser(), sys.argv[0]):
        assert secret not in told


def test_a_store_on_this_machine_gets_everything(store: CompileStore) -> None:
    log(store, report(0.3, 0.6, 0.6))
    assert "state.json" in all_told(store)


SAMPLE = {
    "id": "a", "question": "SECRET?", "answer": "I", "evolution": "simple", "language": "en", "probability": 0.5,
}  # fmt: skip


def make_record(folder: Path) -> Path:
    """Return the record of a run as another machine may not see it."""
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
        "parser": "C:\\Users\\maria\\parser",
        "vector_store": f"qdrant:{home}/vectors",
        "recipe": "evolved",
        "size": 3,
    }
    told = {
        "configuration": configuration,
        "compiled": {},
        "models": {"lm": {"name": "openai/tiny@server", "sha256": None}},
        "critic": "judge",
        "versions": {},
        "counts": {},
        "identity": "abc",
        **dict.fromkeys(names, 1),
    }
    (folder / "run.json").write_text(json.dumps(told))
    return folder / "run.json"


def test_another_machine_gets_the_figures_of_a_run(elsewhere: CompileStore, tmp_path: Path) -> None:
    record = make_record(tmp_path)
    run_id = log_generation(record, elsewhere)
    client = mlflow.MlflowClient(elsewhere.uri)
    params = client.get_run(run_id).data.params
    assert params.items() >= {
        "lm": "openai/tiny@server", "embedder": "embedder", "compiled": "compiled", "parser": "parser",
        "vector_store": "qdrant:vectors", "recipe": "evolved", "size": "3",
    }.items()  # fmt: skip
    assert client.get_run(run_id).data.metrics["accepted"] == 1.0
    told = all_told(elsewhere)
    for secret in ("SECRET", "maria", "contracts", "10.0.0.7", "samples", getpass.getuser(), sys.argv[0]):
        assert secret not in told
    assert log_generation(record, elsewhere) == run_id
    elsewhere.keeps_texts = True
    assert log_generation(record, elsewhere) == run_id, "the samples are added to what was logged before"
    assert [file.path for file in client.list_artifacts(run_id)] == ["samples.jsonl"]
    assert "maria" not in all_told(elsewhere)


def test_a_store_on_this_machine_gets_the_samples_of_a_run(store: CompileStore, tmp_path: Path) -> None:
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
def test_a_store_is_here_only_in_files(uri: str, host: str | None) -> None:
    assert store_host(uri) == host


def test_an_address_of_a_store_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@[::1")
    with pytest.raises(InputError, match=r"^MLFLOW_TRACKING_URI or --tracking: http://\[::1 is no address"):
        CompileStore.open()


def test_figures_alone_are_a_run_without_a_state(store: CompileStore) -> None:
    store.log_figures("judge-heads", "trees", {"seed": 0}, {"dev": {"auc": Interval(0.8, 0.7, 0.9)}})
    client = mlflow.MlflowClient(store.uri)
    experiment = client.get_experiment_by_name("groundset-judge-heads")
    [run] = client.search_runs([experiment.experiment_id])
    assert run.data.metrics == {"dev_auc": 0.8, "dev_auc_low": 0.7, "dev_auc_high": 0.9}
    assert run.data.params == {"seed": "0"}
    assert store.experiments() == []


def test_a_run_holds_parameters_measures_artifacts_children_and_the_prompt(store: CompileStore) -> None:
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


@pytest.mark.parametrize(
    ("dev", "test"),
    [(0.6, 0.6), (0.5, 0.9)],
)
def test_a_champion_gives_way_only_to_a_better_one(store: CompileStore, dev: float, test: float) -> None:
    champion = log(store, report(0.3, 0.6, 0.6))
    promote(store, champion)
    rival = log(store, report(0.3, dev, test))
    with pytest.raises(PromotionError, match="within noise"):
        promote(store, rival)
    assert [each.champion for each in store.experiments() if each.run_id == champion] == [True]


def test_scores_that_are_no_numbers_promote_nothing(store: CompileStore) -> None:
    made = report(0.3, 0.9, 0.9)
    rows = [{**row, "after_score": float("nan")} for row in made.rows]
    with pytest.raises(PromotionError, match=r"predictions\.parquet of \w+ is damaged"):
        promote(store, log(store, dataclasses.replace(made, rows=rows)))


def test_a_damaged_state_is_not_promoted(store: CompileStore) -> None:
    made = report(0.3, 0.9, 0.9)
    odd = made.state.model_copy(update={"predictor": {**made.state.predictor, "demos": [7]}})
    with pytest.raises(StateError, match=r"state\.json of \w+ in .*predictor\.demos\.0"):
        promote(store, log(store, dataclasses.replace(made, state=odd)))
    with pytest.raises(InputError, match="no champion"):
        load_compiled("champion", Users("lm", None, "qwen/tiny:1b", None), store.uri)


def test_test_rows_are_told_and_decide_nothing(store: CompileStore) -> None:
    promote(store, log(store, report(0.3, 0.6, 0.6)))
    _, gains = promote(store, log(store, report(0.3, 0.9, 0.4)))
    assert gains["test"].value == pytest.approx(-0.2)


def test_rows_of_one_document_count_as_one(store: CompileStore) -> None:
    promote(store, log(store, report(0.3, 0.5, 0.5)))
    rival = report(0.3, 0.5, 0.5)
    rows = [{**row, "document": f"d{int(row['id'][-1]) % 6}"} for row in rival.rows]
    rows = [{**row, "after_score": 0.6 if row["document"] in ("d1", "d3", "d5") else 0.45} for row in rows]
    with pytest.raises(PromotionError, match="within noise"):
        promote(store, log(store, dataclasses.replace(rival, rows=rows)))


def test_a_few_documents_decide_nothing(store: CompileStore) -> None:
    made = report(0.3, 0.6, 0.6)
    few = dataclasses.replace(made, rows=[{**row, "document": f"d{int(row['id'][-1]) % 4}"} for row in made.rows])
    with pytest.raises(PromotionError, match=r"dev rows to compare it on, 12, are of too few documents \(4 of 5\);"):
        promote(store, log(store, few))
    assert store.experiments()[0].champion is False


def test_a_champion_gives_way_to_none_for_other_weights(store: CompileStore) -> None:
    def made_for(weights: str, dev: float) -> str:
        made = report(0.3, dev, dev)
        return log(store, dataclasses.replace(made, parameters={**made.parameters, "model_sha256": weights}))

    champion = made_for("a" * 64, 0.6)
    promote(store, champion)
    with pytest.raises(PromotionError, match=f"compiled for other weights than the champion {champion}"):
        promote(store, made_for("b" * 64, 0.9))
    promote(store, made_for("a" * 64, 0.9))


def test_likelihoods_are_not_ranked_among_metrics(store: CompileStore) -> None:
    log(store, report(0.7, 0.8, 0.8))
    most = log(store, report(0.1, 0.5, 0.5))
    made = report(0.3, 0.9, 0.9)
    taught = log(store, dataclasses.replace(made, state=made.state.model_copy(update={"optimizer": "finetune"})))
    assert {each.run_id for each in best_of(store.experiments(), 1)} == {most, taught}


def test_the_best_of_many_candidates_must_gain_more(store: CompileStore) -> None:
    made = report(0.3, 0.5, 0.5)
    rows = [{**row, "after_score": 0.1 if int(row["id"][-1]) % 5 == 0 else 0.6} for row in made.rows]
    many = dataclasses.replace(made, rows=rows, figures={**made.figures, "tried": 40})
    with pytest.raises(PromotionError, match="the best of 40 candidates on them, is within noise"):
        promote(store, log(store, many))
    promote(store, log(store, dataclasses.replace(many, figures={**made.figures, "tried": 1})))


def test_what_was_measured_otherwise_is_not_compared(store: CompileStore) -> None:
    champion = log(store, report(0.3, 0.6, 0.6))
    promote(store, champion)
    made = report(0.3, 0.8, 0.8)
    taught = made.state.model_copy(update={"optimizer": "finetune"})
    rows = [{**row, "id": f"{row['id']}/gold"} for row in made.rows]
    rival = log(store, dataclasses.replace(made, state=taught, rows=rows))
    with pytest.raises(PromotionError, match=f"{rival} by finetune, the champion {champion} by labeled: .*alias"):
        promote(store, rival)


def test_all_compiles_are_found_whatever_their_number(store: CompileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {log(store, report(0.3, 0.6, 0.6)) for _ in range(3)}
    search = store.client.search_runs
    monkeypatch.setattr(store.client, "search_runs", lambda *told, **more: search(*told, **more, max_results=2))
    assert {each.run_id for each in store.experiments()} == runs


def test_the_first_champion_must_beat_the_step_as_it_was(store: CompileStore) -> None:
    with pytest.raises(PromotionError, match="within noise"):
        promote(store, log(store, report(0.6, 0.6, 0.6)))
    with pytest.raises(PromotionError, match="no compile of that id"):
        promote(store, "0" * 32)
    run = log(store, report(0.3, 0.6, 0.6))
    promote(store, run)
    with pytest.raises(PromotionError, match="champion already"):
        promote(store, run)


def test_a_generated_dataset_is_logged_once(store: CompileStore, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    row = {"id": "a", "question": "Who?", "answer": "I", "evolution": "simple", "language": "en", "probability": 0.5}
    samples.write_text(json.dumps(row) + "\n", encoding="utf-8")
    first = store.log_run("run", "key", {"size": 1}, {"accepted": 1.0}, samples)
    assert store.log_run("run", "key", {"size": 1}, {"accepted": 1.0}, samples) == first
    run = mlflow.MlflowClient(store.uri).get_run(first)
    assert run.data.metrics == {"accepted": 1.0}
    assert run.inputs.dataset_inputs[0].dataset.name == "run"
    assert store.experiments() == []


def test_a_run_of_generate_is_no_compile_and_the_newest_compiles_are_named(store: CompileStore, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text("")
    run_id = store.log_run("demo", "key", {}, {"accepted": 0.0}, samples)
    said = f"^{run_id} is a run of groundset generate, and only a compile can be promoted: "
    with pytest.raises(PromotionError, match=f"{said}there is no compile.$"):
        promote(store, run_id)
    compiles = []
    for _ in range(4):
        compiles.append(log(store, report(0.3, 0.6, 0.6)))
        time.sleep(0.002)
    newest = ", ".join(rf"answer for qwen/tiny:1b \({each}\)" for each in reversed(compiles[1:]))
    with pytest.raises(PromotionError, match=f"{said}the newest compiles are {newest}; groundset experiments lists"):
        promote(store, run_id)


def test_a_store_that_cannot_be_reached_is_named_without_its_password() -> None:
    with pytest.raises(TrackingError, match="tracking store sqlite") as raised:
        CompileStore("sqlite:////dev/null/mlflow.db").experiments()
    assert "/dev/null" in str(raised.value)
    uri = "postgresql://me:secret@localhost:1/x"
    with pytest.raises(TrackingError) as raised:
        CompileStore(uri).experiments()
    assert "secret" not in str(raised.value)


def test_the_best_of_each_step_are_kept_and_champions_always(store: CompileStore) -> None:
    runs = [log(store, report(0.1, dev, dev)) for dev in (0.5, 0.7, 0.9)]
    promote(store, runs[0])
    kept = best_of(store.experiments(), 1)
    assert [each.run_id for each in kept] == [runs[2], runs[0]]
    assert pd.DataFrame(kept)["step"].unique().tolist() == ["answer"]
