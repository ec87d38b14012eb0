"""`groundset experiments` and `groundset promote`: what they say where nothing was tracked, and where it was."""

import json

import pytest

from groundset.tracking.compiles import CompileStore, Experiment


@pytest.fixture
def nothing_tracked(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [("experiments",), ("promote", "abc"), ("ui",)])
def test_looking_makes_no_store(run, nothing_tracked, command):
    ran = run(*command)
    assert ran.status == 2
    assert f"nothing is tracked in {nothing_tracked / 'home' / 'mlruns'} yet" in ran.err
    elsewhere = run(*command, "--tracking", "elsewhere")
    assert elsewhere.status == 2
    assert f"nothing is tracked in {nothing_tracked / 'elsewhere'} yet" in elsewhere.err
    assert list(nothing_tracked.iterdir()) == []


def test_a_store_that_is_not_the_usual_one_is_named(run, nothing_tracked):
    for named, line in (("own", f"Tracking store: {nothing_tracked / 'own'}\n"), (None, "")):
        CompileStore.open(named).experiments()
        ran = run("experiments", *(("--tracking", named) if named else ()))
        assert (ran.status, ran.err) == (0, line)


def test_a_server_that_is_not_there_is_named_soon(run, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    ran = run("experiments")
    assert ran.status == 2
    assert "the tracking store http://127.0.0.1:9 does not answer" in ran.err
    assert "secret" not in ran.err


FOUND = [
    Experiment("r1", "answer", "tiny", "labeled", {"dev": 0.2, "test": 0.3}, {"dev": 0.5, "test": 0.6}, 1200, True, 7),
    Experiment("r2", "question", "tiny", "gepa", {"dev": 0.1}, {"dev": 0.2}, 80, False),
    Experiment("r3", "question", "tiny", "gepa", {}, {}, 0, False, status="FAILED", error="out of memory"),
    Experiment("r4", "question", "tiny", "gepa", {"dev": 0.1}, {"dev": 0.9}, 9, False, status="KILLED"),
    Experiment("r5", "question", "tiny", "gepa", {}, {}, 0, False, status="FAILED", error="disk full"),
]


def test_compiles_are_listed_with_their_champion(run, monkeypatch):
    found = FOUND
    monkeypatch.setattr(CompileStore, "experiments", lambda store: found)
    ran = run("experiments")
    assert ran.out.splitlines() == [
        "step      model  optimizer  dev             test            compared  calls  run",
        "answer    tiny   labeled    0.200 to 0.500  0.300 to 0.600  7         1,200  r1 *",
        "question  tiny   gepa       0.100 to 0.200  -               -         80     r2",
        "Not finished: 2 failed, 1 killed. `groundset ui` shows them.",
    ]
    of_answer = run("experiments", "--step", "answer").out
    assert "r2" not in of_answer
    assert "Not finished" not in of_answer
    monkeypatch.setattr(CompileStore, "experiments", lambda store: found[2:3])
    assert run("experiments").out == "Not finished: 1 failed. `groundset ui` shows them.\n"
    monkeypatch.setattr(CompileStore, "experiments", lambda store: [])
    assert run("experiments").out == "No compiles tracked; run `groundset compile` first.\n"


def test_json_is_one_document(run, monkeypatch):
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


def test_sixty_columns_are_enough(run_narrow, monkeypatch):
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
    assert " ".join(lines[-1:]) == "Not finished: 2 failed, 1 killed. `groundset ui` shows them."
