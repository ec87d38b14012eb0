"""What a tracking store gets of a run after it was logged."""

import json
from pathlib import Path
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
    """The folder of a store on this machine."""
    return tmp_path_factory.mktemp("tracking") / "mlruns"


@pytest.fixture
def tracked(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that is tracked there."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    folder = reported_run.make_run(tmp_path / "run", digest="abc")
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    track(folder / "run.json", TrackingStore.open(str(place)))
    return folder


def noted(run: Path) -> dict[str, Any]:
    """Return where a run is tracked."""
    with RunStore.read(run) as store:
        return dict(store.meta("tracked"))


def note(run: Path, **meta: Any) -> None:
    with RunStore.open(run) as store:
        for name, value in meta.items():
            store.set_meta(name, value)
        write_files(store, "complete")


def kept(run: Path) -> list[str]:
    """Return the files that the store has of a run."""
    before = noted(run)
    client = mlflow.MlflowClient(f"sqlite:///{before['store']}/mlflow.db")
    return sorted(file.path for file in client.list_artifacts(before["run_id"]))


def test_a_report_is_kept_with_its_run_and_a_later_one_takes_its_place(tracked: Path, place: Path) -> None:
    for page in ("<p>First", PAGE):
        told = log_report(tracked, page, "report.html", texts=False)
    assert told is not None
    assert told.kept_from is None
    assert kept(tracked) == ["report.html", "samples.jsonl"]
    [file] = place.rglob("report.html")
    assert file.read_text(encoding="utf-8") == PAGE


def test_samples_that_hold_line_ends_of_other_kinds_are_logged(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    folder = reported_run.make_run(tmp_path / "run", evils=("one\u2028two\u2029three\x85four",), digest="ends")
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    told = track(folder / "run.json", TrackingStore.open(str(place)))
    [logged] = mlflow.MlflowClient(told.uri).get_run(told.run_id).inputs.dataset_inputs
    assert json.loads(logged.dataset.profile)["num_rows"] == 6
    assert kept(folder) == ["samples.jsonl"]


@pytest.mark.parametrize("broken", ["{", "[1]", "{}"])
def test_a_damaged_record_does_not_keep_a_report_from_its_run(tracked: Path, broken: str) -> None:
    (tracked / "run.json").write_text(broken, encoding="utf-8")
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None
    (tracked / "run.json").unlink()
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None


def test_another_machine_gets_it_only_if_that_was_asked_for(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "store_host", lambda uri: "mlflow.example")
    told = log_report(tracked, PAGE, "report.html", texts=False)
    assert told is not None
    assert told.kept_from == "mlflow.example"
    assert kept(tracked) == ["samples.jsonl"]
    told = log_report(tracked, PAGE, "report.html", texts=True)
    assert told is not None
    assert told.kept_from is None
    assert kept(tracked) == ["report.html", "samples.jsonl"]


def test_samples_still_go_to_a_run_that_has_a_report_only(tracked: Path, place: Path) -> None:
    note(tracked, growth=[{"first": 0, "size": 12}])
    store = TrackingStore.open(str(place))
    store.keeps_texts = False
    run_id = runs.log_generation(tracked / "run.json", store)
    store.log_page(run_id, PAGE, "report.html")
    store.keeps_texts = True
    assert runs.log_generation(tracked / "run.json", store) == run_id
    client = mlflow.MlflowClient(store.uri)
    assert sorted(file.path for file in client.list_artifacts(run_id)) == ["report.html", "samples.jsonl"]


def test_a_run_that_is_not_tracked_or_has_grown_since_keeps_its_report_to_itself(tracked: Path) -> None:
    before = noted(tracked)
    note(tracked, growth=[{"first": 0, "size": 10}, {"first": 12, "size": 20}])
    assert log_report(tracked, PAGE, "report.html", texts=False) is None
    note(tracked, growth=None, tracked=None)
    assert log_report(tracked, PAGE, "report.html", texts=False) is None
    note(tracked, tracked=before)
    assert log_report(tracked, PAGE, "report.html", texts=False) is not None


def test_a_store_that_is_elsewhere_now_is_named(tracked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'others' / 'mlflow.db'}")
    with pytest.raises(InputError, match=r"tracked in .*mlruns, and MLFLOW_TRACKING_URI names another store"):
        log_report(tracked, PAGE, "report.html", texts=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    note(tracked, tracked={**noted(tracked), "store": str(tmp_path / "gone")})
    with pytest.raises(InputError, match="nothing is tracked in"):
        log_report(tracked, PAGE, "report.html", texts=False)
    assert not (tmp_path / "gone").exists()


def test_the_command_says_what_became_of_it(
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
    assert "Kept" not in run("--no-track")[0]
    monkeypatch.setattr(runs, "user_folder", lambda: place)
    assert f"Kept with {noted(tracked)['run_id']}.\n" in run()[0], "nobody is told of the usual place"
    monkeypatch.setattr(runs, "store_host", lambda uri: "mlflow.example")
    assert "Not sent to mlflow.example, where the run is tracked: it holds texts" in run()[1]
    note(tracked, tracked={**noted(tracked), "store": str(tracked / "gone")})
    out, err = run()
    assert out == f"Report: {tracked / 'report.html'}.\n"
    assert "Not kept with the tracked run: nothing is tracked in" in err


def test_what_is_expected_good_says_of_how_many_samples(tracked: Path) -> None:
    before = noted(tracked)
    logged = mlflow.MlflowClient(f"sqlite:///{before['store']}/mlflow.db").get_run(before["run_id"]).data.metrics
    with RunStore.read(tracked) as store:
        samples = len(list(store.results.samples()))
    assert samples > 0
    assert logged["expected_good"] == 0.584
    assert logged["expected_good_said_of"] == samples
