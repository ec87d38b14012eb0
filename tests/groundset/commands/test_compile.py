"""`groundset compile`: what it refuses before minutes are spent, and what it says of a compile."""

import json

import pytest

from groundset.compiling import compiler, modes, resources
from groundset.compiling.options import CompileOptions
from groundset.tracking.compiles import CompileStore
from optimizers.steps import FITTED
from optimizers.strategies import finetune, fit_ensemble
from programs.errors import EngineError


def test_invalid_labels_are_rejected_before_writing(run, tmp_path):
    wrong, few = tmp_path / "mine.jsonl", tmp_path / "few.json"
    wrong.write_text('{"id": "c1"}\n', encoding="utf-8")
    few.write_text('{"data": []}', encoding="utf-8")
    for labels, fault in (
        (wrong, f"{wrong}, line 1: "),
        (tmp_path / "none.jsonl", f"--labels {tmp_path / 'none.jsonl'}: no such file"),
        (f"squad:{tmp_path / 'none.json'}", "no such file"),
        (f"nq:{few}", "unknown set nq"),
        (f"squad:{few}", "no usable questions"),
    ):
        options = ("--optimizer", "finetune", "--lm", "smollm2-135m", "--labels", labels)
        ran = run("compile", "all", *options, "--out", tmp_path / "out")
        assert (ran.status, fault in ran.err) == (2, True), ran.err
    assert not (tmp_path / "out").exists()


def test_compile_prints_progress_report_and_files(run, compile_for, tmp_path):
    compile_for()
    ran = run("compile", "answer", "--optimizer", "labeled", "--lm", "tiny", "--budget", 30, "--out", tmp_path / "out")
    assert ran.status == 0
    assert "Compiling answer: about 182 calls." in ran.err
    assert "(1 of 1 candidates compared on all dev rows)" in ran.out
    # One dev row less than 24 is asked anew: no demo of its language was drawn, so its prompt is the one by hand.
    assert "; 111 calls" in ran.out
    assert "measure  before" in ran.out
    assert "Logged to MLflow as run " in ran.out
    assert f"States: {tmp_path / 'out' / 'tiny' / 'answer.json'}." in ran.out
    assert json.loads((tmp_path / "out" / "tiny" / "answer.json").read_text(encoding="utf-8"))["optimizer"] == "labeled"


def test_interrupted_compile_keeps_best_candidate_and_continues(run, compile_for, tmp_path):
    engine = compile_for(40)
    options = ("--optimizer", "labeled", "--lm", "tiny", "--budget", 30, "--out", tmp_path / "out", "--no-track")
    ran = run("compile", "answer", *options)
    assert ran.status == 130
    assert "Interrupted: the best candidate so far is kept" in ran.out
    assert "Tracked" not in ran.out
    assert (tmp_path / "out" / "tiny" / "answer.json").exists()
    engine.fail_at = 0
    assert run("compile", "answer", *options).status == 0
    assert engine.calls == 111 + 1, "no call but the interrupted one was made twice"


@pytest.mark.parametrize(
    ("fails", "exit_status", "status", "error"),
    [
        ((40,), 130, "KILLED", ""),  # while candidates are tried: there is a best so far
        ((5,), 130, "KILLED", ""),  # before
        ((40, RuntimeError("out of memory")), 1, "FAILED", "out of memory"),
    ],
)
def test_unfinished_compile_is_tracked_and_not_promoted(
    run, compile_for, tmp_path, monkeypatch, fails, exit_status, status, error
):
    compile_for(*fails)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    ran = run("compile", "answer", "--optimizer", "labeled", "--lm", "tiny", "--budget", 30, "--out", tmp_path / "out")
    assert ran.status == exit_status
    assert "Interrupted: " in ran.out + ran.err or error in ran.err
    [entry] = CompileStore.open().experiments()
    assert entry.status == status
    assert error in entry.error
    refused = run("promote", entry.run_id)
    assert refused.status == 2
    assert f"{entry.run_id}: compile did not finish ({status.lower()}" in refused.err
    assert f"1 {status.lower()}" in run("experiments").out


@pytest.mark.parametrize(
    ("raised", "exit_status", "status"),
    [(KeyboardInterrupt(), 130, "KILLED"), (EngineError("no such layer"), 1, "FAILED")],
)
def test_unfinished_training_is_tracked_for_each_step(run, tmp_path, monkeypatch, raised, exit_status, status):
    def train(*arguments):
        raise raised

    monkeypatch.setattr(finetune, "find_spec", lambda name: name)
    monkeypatch.setattr(resources, "ensure_available", lambda spec: spec)
    monkeypatch.setattr(finetune, "_train", train)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    options = ("--optimizer", "finetune", "--lm", "smollm2-135m", "--out", tmp_path / "out")
    assert run("compile", "pair", "answer", *options).status == exit_status
    found = CompileStore.open().experiments()
    assert [(each.step, each.model, each.status) for each in found] == [
        ("answer", "smollm2-135m", status),
        ("pair", "smollm2-135m", status),
    ]


@pytest.mark.usefixtures("few_labels")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("colour",), "STEP colour: unknown step"),
        (("answer", "--optimizer", "magic"), "--optimizer magic: unknown strategy"),
        (("answer", "--optimizer", "gepa"), "name it with --lm"),
        (("answer",), "fit-head cannot compile answer; it compiles chunk, grounding, judge, same"),
        (("agree",), "fit-head cannot compile agree"),
        (("answer", "--optimizer", "mipro", "--lm", "tiny"), "--teacher"),
        (
            ("chunk", "--optimizer", "fit-ensemble", "--lm", "tiny"),
            "cannot compile chunk; it compiles judge",
        ),
        (("judge", "--optimizer", "fit-ensemble"), "name it with --lm"),
        (("reasoning", "--optimizer", "knn", "--lm", "tiny"), "no example outputs for reasoning"),
        (("mode", "--lm", "tiny"), "--teacher"),
    ],
)
def test_invalid_options_are_rejected(run, compile_for, tmp_path, monkeypatch, options, message):
    engine = compile_for()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    ran = run("compile", *options, "--out", tmp_path / "out")
    assert (ran.status, message in ran.err) == (2, True), ran.err
    assert engine.calls == 0
    assert list(tmp_path.iterdir()) == [], "no state and no run"


@pytest.mark.parametrize(("step", "optimizer"), [("answer", "labeled"), ("judge", "fit-ensemble")])
def test_unreachable_server_is_reported_before_writing(run, tmp_path, step, optimizer):
    server = "openai/tiny@http://127.0.0.1:9/v1"
    ran = run("compile", step, "--optimizer", optimizer, "--lm", server, "--out", tmp_path / "out")
    assert ran.status == 2
    assert "no model server answers at http://127.0.0.1:9/v1" in ran.err
    assert not (tmp_path / "out").exists()


def test_failing_tracking_store_does_not_lose_the_state(run, compile_for, tmp_path, monkeypatch):
    compile_for()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////dev/null/mlflow.db")
    ran = run("compile", "answer", "--optimizer", "labeled", "--lm", "tiny", "--budget", 24, "--out", tmp_path)
    assert ran.status == 0
    message = "tracking store sqlite:////dev/null/mlflow.db failed"
    assert ran.err.count(message) == 1
    assert ran.err.index(message) < ran.err.index("Compiling answer"), "reported before the compile"
    assert (tmp_path / "tiny" / "answer.json").exists()


def test_help_lists_default_target_precisions():
    shown = CompileOptions.model_fields["target_precision"].json_schema_extra["show_default"]
    precisions = {name: fitting.target_precision for name, fitting in FITTED.items()}
    precisions["fit-ensemble"] = fit_ensemble.TARGET_PRECISION
    assert shown == ", ".join(f"{name} {precision:g}" for name, precision in precisions.items())


def test_mode_is_measured_with_lm_and_teacher(run, monkeypatch, tmp_path):
    def measure_modes(lm, judging_lm, *, out, **options):
        measures = (modes.ModeMeasure("free", 24, 20, 15), modes.ModeMeasure("guided", 24, 8, 4))
        return modes.ModeReport(lm, measures), out / "small" / "mode.json"

    monkeypatch.setattr(compiler, "measure_modes", measure_modes)
    monkeypatch.setattr(compiler, "check_server", lambda model: None)
    models = [f"openai/{name}@http://127.0.0.1:9/v1" for name in ("small", "strong")]
    ran = run("compile", "mode", "--lm", models[0], "--teacher", models[1], "--out", tmp_path / "out")
    assert ran.status == 0, ran.err
    rows = [line.split()[0] for line in ran.out.splitlines() if line.startswith(("free", "guided"))]
    assert rows == ["free", "guided"]
    assert "Tracked" not in ran.out
