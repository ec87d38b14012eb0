"""`groundset experiments`, and commands on a missing store."""

import json

import pytest

from groundset.tracking.compiles import CompileStore, Experiment


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [("experiments",), ("promote", "abc"), ("ui",)])
def test_missing_store_is_not_created(run, empty_home, command):
    ran = run(*command)
    assert ran.status == 2
    assert f"{empty_home / 'home' / 'mlruns'}: nothing tracked yet" in ran.err
    ran = run(*command, "--tracking", "other")
    assert ran.status == 2
    assert f"{empty_home / 'other'}: nothing tracked yet" in ran.err
    assert list(empty_home.iterdir()) == []


def test_store_is_printed_unless_default(run, empty_home):
    for named, line in (("own", f"Tracking store: {empty_home / 'own'}\n"), (None, "")):
        CompileStore.open(named).experiments()
        ran = run("experiments", *(("--tracking", named) if named else ()))
        assert (ran.status, ran.err) == (0, line)


def test_unreachable_server(run, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    ran = run("experiments")
    assert ran.status == 2
    assert "tracking store http://127.0.0.1:9 does not respond" in ran.err
    assert "secret" not in ran.err


FOUND = [
    Experiment("r1", "answer", "tiny", "labeled", {"dev": 0.2, "test": 0.3}, {"dev": 0.5, "test": 0.6}, 1200, True, 7),
    Experiment("r2", "question", "tiny", "gepa", {"dev": 0.1}, {"dev": 0.2}, 80, False),
    Experiment("r3", "question", "tiny", "gepa", {}, {}, 0, False, status="FAILED", error="out of memory"),
    Experiment("r4", "question", "tiny", "gepa", {"dev": 0.1}, {"dev": 0.9}, 9, False, status="KILLED"),
    Experiment("r5", "question", "tiny", "gepa", {}, {}, 0, False, status="FAILED", error="disk full"),
]


def test_experiments_table(run, monkeypatch):
    found = FOUND
    monkeypatch.setattr(CompileStore, "experiments", lambda store: found)
    ran = run("experiments")
    assert ran.out.splitlines() == [
        "step      model  optimizer  dev             test            compared  calls  run",
        "answer    tiny   labeled    0.200 to 0.500  0.300 to 0.600  7         1,200  r1 *",
        "question  tiny   gepa       0.100 to 0.200  -               -         80     r2",
        "Unfinished: 2 failed, 1 killed; `groundset ui` shows them.",
    ]
    answer_only = run("experiments", "--step", "answer").out
    assert "r2" not in answer_only
    assert "Unfinished" not in answer_only
    monkeypatch.setattr(CompileStore, "experiments", lambda store: found[2:3])
    assert "1 failed" in run("experiments").out
    monkeypatch.setattr(CompileStore, "experiments", lambda store: [])
    assert "groundset compile" in run("experiments").out


def test_json(run, monkeypatch):
    monkeypatch.setattr(CompileStore, "experiments", lambda store: FOUND)
    ran = run("experiments", "--json")
    document = json.loads(ran.out)
    assert (ran.err, document["unfinished"]) == ("", {"failed": 2, "killed": 1})
    first, second = document["compiles"]
    assert second["run_id"] == "r2"
    assert first == {key: value for key, value in FOUND[0]._asdict().items() if key not in ("error", "started")}
    monkeypatch.setattr(CompileStore, "experiments", lambda store: [])
    nothing = json.loads(run("experiments", "--json").out)
    assert nothing == {"store": document["store"], "compiles": [], "unfinished": {}}


def test_narrow_terminal(run_narrow, monkeypatch):
    long = FOUND[0]._replace(run_id="0123456789abcdef0123456789abcdef")
    monkeypatch.setattr(CompileStore, "experiments", lambda store: [long, *FOUND[1:]])
    lines = run_narrow("experiments")
    assert lines[:8] == [
        "step       answer",
        "model      tiny",
        "optimizer  labeled",
        "dev        0.200 to 0.500",
        "test       0.300 to 0.600",
        "compared   7",
        "calls      1,200",
        "run        0123456789abcdef0123456789abcdef *",
    ]
    assert lines[8:10] == ["", "step       question"]
