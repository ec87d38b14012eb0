"""Tracking of runs and their reports."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import pytest
import reported_run

from groundset import commands
from groundset.store.record import write_files
from groundset.store.run_store import RunStore
from groundset.tracking import runs
from groundset.tracking.runs import log_report, track
from groundset.tracking.store import TrackingStore
from programs.errors import InputError

PAGE = "<!doctype html><p>The ferry leaves Tollvik at nine."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a local store."""
    return tmp_path_factory.mktemp("tracking") / "mlruns"


@pytest.fixture
def tracked(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run tracked in the local store."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    folder = reported_run.make_run(tmp_path / "run", digest="abc")
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    track(folder / "run.json", TrackingStore.open(str(place)))
    return folder


def tracking_of(run: Path) -> dict[str, Any]:
    """Return the tracking record of a run."""
    with RunStore.read(run) as store:
        return dict(store.meta("tracked"))


def set_meta(run: Path, **meta: Any) -> None:
    with RunStore.open(run) as store:
        for name, value in meta.items():
            store.set_meta(name, value)
        write_files(store, "complete")


def artifacts(run: Path) -> list[str]:
    before = tracking_of(run)
    client = mlflow.MlflowClient(f"sqlite:///{before['store']}/mlflow.db")
    return sorted(file.path for file in client.list_artifacts(before["run_id"]))


def test_report_is_logged_and_replaced(tracked: Path, place: Path) -> None:
    for page in ("<p>First", PAGE):
        logged = log_report(tracked, page, "report.html", texts=False)
    assert logged is not None
    assert logged.withheld_from is None
    assert artifacts(tracked) == ["report.html", "samples.jsonl"]
    [file] = place.rglob("report.html")
    assert file.read_text(encoding="utf-8") == PAGE


def test_samples_with_unicode_line_separators(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    folder = reported_run.make_run(tmp_path / "run", evils=("one\u2028two\u2029three\x85four",), digest="ends")
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    logged = track(folder / "run.json", TrackingStore.open(str(place)))
    [logged_input] = mlflow.MlflowClient(logged.uri).get_run(logged.run_id).inputs.dataset_inputs
    assert json.loads(logged_input.dataset.profile)["num_rows"] == 6
    assert artifacts(folder) == ["samples.jsonl"]


@pytest.mark.parametrize("broken", ["{", "[1]", "{}"])
def test_damaged_run_json_does_not_prevent_logging(tracked: Path, broken: str) -> None:
    (tracked / "run.json").write_text(broken, encoding="utf-8")
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None
    (tracked / "run.json").unlink()
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None


def test_remote_store_gets_report_only_if_requested(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "store_host", lambda uri: "mlflow.example")
    logged = log_report(tracked, PAGE, "report.html", texts=False)
    assert logged is not None
    assert logged.withheld_from == "mlflow.example"
    assert artifacts(tracked) == ["samples.jsonl"]
    logged = log_report(tracked, PAGE, "report.html", texts=True)
    assert logged is not None
    assert logged.withheld_from is None
    assert artifacts(tracked) == ["report.html", "samples.jsonl"]


def test_samples_are_added_to_a_run_with_a_report(tracked: Path, place: Path) -> None:
    set_meta(tracked, growth=[{"first": 0, "size": 12}])
    store = TrackingStore.open(str(place))
    store.keeps_texts = False
    run_id = runs.log_generation(tracked / "run.json", store)
    store.log_page(run_id, PAGE, "report.html")
    store.keeps_texts = True
    assert runs.log_generation(tracked / "run.json", store) == run_id
    client = mlflow.MlflowClient(store.uri)
    assert sorted(file.path for file in client.list_artifacts(run_id)) == ["report.html", "samples.jsonl"]


def test_report_of_untracked_or_grown_run_is_not_logged(tracked: Path) -> None:
    before = tracking_of(tracked)
    set_meta(tracked, growth=[{"first": 0, "size": 10}, {"first": 12, "size": 20}])
    assert log_report(tracked, PAGE, "report.html", texts=False) is None
    set_meta(tracked, growth=None, tracked=None)
    assert log_report(tracked, PAGE, "report.html", texts=False) is None
    set_meta(tracked, tracked=before)
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None


def test_store_that_moved(tracked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'others' / 'mlflow.db'}")
    with pytest.raises(InputError, match=r"tracked in .*mlruns, but MLFLOW_TRACKING_URI names another store"):
        log_report(tracked, PAGE, "report.html", texts=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    set_meta(tracked, tracked={**tracking_of(tracked), "store": str(tmp_path / "gone")})
    with pytest.raises(InputError, match="nothing tracked yet"):
        log_report(tracked, PAGE, "report.html", texts=False)
    assert not (tmp_path / "gone").exists()


def test_report_command_messages(
    tracked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    def run(*arguments: Any) -> tuple[str, str]:
        with pytest.raises(SystemExit) as leaving:
            commands.main(["report", str(tracked), *arguments])
        assert leaving.value.code == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **_: None)
    monkeypatch.setattr("groundset.report.report.report_page", lambda facts: PAGE)
    assert f"in {place}.\n" in run()[0]
    assert "MLflow" not in run("--no-track")[0]
    monkeypatch.setattr(runs, "user_folder", lambda: place)
    assert f"{tracking_of(tracked)['run_id']}.\n" in run()[0], "the default store is not named"
    monkeypatch.setattr(runs, "store_host", lambda uri: "mlflow.example")
    assert "not sent to mlflow.example" in run()[1]
    set_meta(tracked, tracked={**tracking_of(tracked), "store": str(tracked / "gone")})
    out, err = run()
    assert out == f"Report: {tracked / 'report.html'}.\n"
    assert "nothing tracked yet" in err


def test_quality_estimate_is_logged_with_its_sample_count(tracked: Path) -> None:
    before = tracking_of(tracked)
    logged = mlflow.MlflowClient(f"sqlite:///{before['store']}/mlflow.db").get_run(before["run_id"]).data.metrics
    with RunStore.read(tracked) as store:
        samples = len(list(store.results.samples()))
    assert samples > 0
    assert logged["expected_good"] == 0.584
    assert logged["expected_good_said_of"] == samples


@pytest.mark.parametrize("host", [None, "mlflow.example"])
def test_server_receives_no_queries_of_users(tmp_path: Path, host: str | None) -> None:
    folder = reported_run.make_run(tmp_path / "run", digest="queries")
    with RunStore.open(folder) as store:
        store.set_meta("configuration", {**store.required("configuration"), "like": ["a secret query"]})
        write_files(store, "complete")
    parameters: dict[str, Any] = {}

    def log_run(name: str, key: str, given: dict[str, Any], *others: Any) -> str:
        parameters.update(given)
        return "1"

    tracking: Any = SimpleNamespace(host=host, log_run=log_run)
    runs.log_generation(folder / "run.json", tracking)
    assert ("like" in parameters) == (host is None)
    assert parameters["recipe"]
