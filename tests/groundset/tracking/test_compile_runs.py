"""The runs of compiles that are under way, in a real MLflow store in a file."""

import dataclasses
from pathlib import Path

import mlflow
import pytest
from compile_reports import log, report

from groundset.compiling.compiler import environment
from groundset.tracking.compiles import CompileRuns, CompileStore, best_of
from groundset.tracking.place import shown
from groundset.tracking.promotion import promote
from optimizers.report import CompileReport
from programs.errors import InputError, PromotionError, TrackingError

STARTED = ("answer", "qwen/tiny:1b", "labeled", {"seed": 0})


def compile_until(error: BaseException, store: CompileStore, *finished: CompileReport) -> None:
    """Start two steps, finish some and raise the error."""
    with CompileRuns(lambda: store, pytest.fail) as runs:
        for step in ("answer", "question"):
            runs.start(step, *STARTED[1:])
        for made in finished:
            assert runs.finish(made) is not None
        raise error


def test_a_run_stands_in_the_store_while_its_step_is_compiled(store: CompileStore) -> None:
    client = mlflow.MlflowClient(store.uri)
    with CompileRuns(lambda: store, pytest.fail) as runs:
        runs.start(*STARTED)
        [entry] = store.experiments()
        run = client.get_run(entry.run_id)
        assert (entry.status, entry.step, entry.model, entry.optimizer) == ("RUNNING", *STARTED[:3])
        assert run.data.params == {"seed": "0"}
        assert run.data.tags["mlflow.source.type"] == "LOCAL", "MLflow's own tags are there too"
        with pytest.raises(PromotionError, match=f"{entry.run_id} did not finish \\(running\\)"):
            promote(store, entry.run_id)
        assert runs.finish(report(0.3, 0.6, 0.6)) == f"{entry.run_id} in {shown(store.uri)}"
    [entry] = store.experiments()
    assert entry.finished
    run = client.get_run(entry.run_id)
    assert run.info.end_time >= run.info.start_time
    assert run.data.params == {"seed": "0", "labels.x": "ab"}


def test_a_crash_marks_the_run_failed_with_its_error_in_one_line(store: CompileStore) -> None:
    with pytest.raises(RuntimeError):
        compile_until(RuntimeError("no memory\nat http://me:secret@host/x"), store, report(0.3, 0.6, 0.6))
    [failed] = [each for each in store.experiments() if not each.finished]
    assert (failed.status, failed.error) == ("FAILED", "RuntimeError: no memory at http://host/x")
    assert [each.step for each in best_of(store.experiments(), 3)] == ["answer"]
    with pytest.raises(PromotionError, match=r"did not finish \(failed: RuntimeError: no memory"):
        promote(store, failed.run_id)


def test_ctrl_c_marks_the_runs_killed_that_have_no_report(store: CompileStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        compile_until(KeyboardInterrupt(), store, report(0.3, 0.6, 0.6))
    assert {each.step: each.status for each in store.experiments()} == {"answer": "FINISHED", "question": "KILLED"}


def test_the_best_so_far_of_an_interrupted_compile_is_kept_and_not_promoted(store: CompileStore) -> None:
    run_id = log(store, dataclasses.replace(report(0.3, 0.6, 0.6), ending="interrupted"))
    [entry] = store.experiments()
    assert (entry.status, entry.after["dev"]) == ("KILLED", pytest.approx(0.6))
    assert "state.json" in {file.path for file in mlflow.MlflowClient(store.uri).list_artifacts(run_id)}
    with pytest.raises(PromotionError, match=r"did not finish \(killed\)"):
        promote(store, run_id)


def test_a_critic_that_was_interrupted_has_no_test_rows_to_draw(store: CompileStore) -> None:
    made = report(0.3, 0.6, 0.6, step="judge", critic=True)
    dev = [row for row in made.rows if row["split"] == "dev"]
    log(store, dataclasses.replace(made, rows=dev, ending="interrupted"))
    [entry] = store.experiments()
    assert (entry.status, entry.error) == ("KILLED", "")


def test_a_file_of_labels_may_have_any_name(store: CompileStore) -> None:
    made = report(0.3, 0.6, 0.6)
    state = made.state.model_copy(update={"record": {"labels": [{"file": "labels (1)+a.jsonl", "sha256": "ab"}]}})
    run_id = log(store, dataclasses.replace(made, state=state, parameters=environment(state)))
    assert store.client.get_run(run_id).data.params["labels.labels _1__a.jsonl"] == "ab"


def test_a_report_that_cannot_be_logged_fails_its_run(store: CompileStore, tmp_path: Path) -> None:
    told: list[str] = []
    with CompileRuns(lambda: store, lambda error: told.append(str(error))) as runs:
        runs.start(*STARTED)
        assert runs.finish(dataclasses.replace(report(0.3, 0.6, 0.6), files=[tmp_path / "gone.gguf"])) is None
    [entry] = store.experiments()
    assert entry.status == "FAILED"
    assert told == [entry.error]
    assert "gone.gguf" in entry.error


@pytest.mark.parametrize("raised", [InputError("no folder"), TrackingError("no store")])
def test_a_store_that_does_not_open_is_told_of_once(raised: Exception) -> None:
    told: list[Exception] = []

    def no_store() -> CompileStore:
        raise raised

    with CompileRuns(no_store, told.append) as runs:
        runs.start(*STARTED)
        runs.start("question", *STARTED[1:])
        assert runs.finish(report(0.3, 0.6, 0.6)) is None
    assert told == [raised]


def test_nothing_is_tracked_without_a_store() -> None:
    with CompileRuns(None, pytest.fail) as runs:
        runs.start(*STARTED)
        assert runs.finish(report(0.3, 0.6, 0.6)) is None
