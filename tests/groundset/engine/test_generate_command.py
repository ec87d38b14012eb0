"""The command `groundset generate`: options, output, files and exit status."""

import functools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from scripted_run import CRITICS, Encoder, scripted_generation, scripted_recipe, write_documents

from groundset import commands
from groundset.engine import making
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.models import OpenAISpec, servers
from groundset.store.run_store import RunStore
from groundset.tracking.store import TrackingStore


class Result(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in this process with scripted models."""
    monkeypatch.setattr(making, "run_generation", scripted_generation())
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as caught:
            commands.main(["generate", *map(str, arguments)])
        captured = capsys.readouterr()
        return Result(caught.value.code, captured.out, captured.err)

    return run


SMALL = ("--size", 8, "--chunk-size", 300, "--min-length", 50)


def test_complete_run_prints_summary(run, docs, tmp_path):
    result = run(docs, "--out", tmp_path / "run", *SMALL, "--mix", "simple=2,reasoning=1,conditional=1")
    assert result.status == 0, result.err
    assert "Kept 8 of 8 samples (simple 4, conditional 2, reasoning 2)" in result.out
    assert "Refused" in result.out
    assert "not independent" in result.out
    assert f"groundset review {tmp_path / 'run'}" in result.out
    assert "20 chunks from 5 documents" in result.err
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names - {".lock"} == {"run.sqlite", "run.json", "samples.jsonl", "rejects.jsonl"}
    assert "What is" in run_show(tmp_path / "run")


def run_show(folder: Path) -> str:
    script = "from groundset.commands import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "show", str(folder)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_run_is_tracked_only_in_the_reported_store(run, docs, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    result = run(docs, "--out", "run", *SMALL)
    assert result.status == 0, result.err
    tracked = json.loads(Path("run/run.json").read_text())["tracked"]
    assert tracked["store"] == str(tmp_path / "home" / "mlruns")
    assert result.out.endswith(f" {tracked['run_id']}.\n")
    assert [path.name for path in Path().iterdir()] == ["run"]
    with monkeypatch.context() as patch:
        patch.setattr(TrackingStore, "open", None)  # a second run does not open the store
        again = run(docs, "--out", "run", *SMALL)
    assert again.out.endswith(f" {tracked['run_id']}.\n")
    grown = run(docs, "--out", "run", *SMALL[2:], "--size", 9)
    assert tracked["run_id"] not in grown.out.splitlines()[-1]
    elsewhere = run(docs, "--out", "run", *SMALL[2:], "--size", 9, "--tracking", tmp_path / "own")
    assert elsewhere.out.endswith(f" in {tmp_path / 'own'}.\n")


def test_short_run_exits_with_status_3(run, docs, tmp_path):
    result = run(docs, "--out", tmp_path / "run", *SMALL[2:], "--size", 500)
    assert result.status == 3
    assert "main rejects: judge: not independent (" in result.out
    assert "--ask all" in result.out
    everything = run(docs, "--out", tmp_path / "all", "--ask", "all", *SMALL[2:], "--size", 500)
    assert "samples are missing" in everything.out
    assert "--ask all" not in everything.out
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "short"
    again = run(docs, "--out", tmp_path / "run", *SMALL[2:], "--size", 500)
    assert (again.status, again.out) == (3, result.out)
    assert "is finished" in again.err


def test_quiet_prints_nothing(run, docs, tmp_path):
    result = run(docs, "--out", tmp_path / "run", "--quiet", *SMALL)
    assert result == (0, "", "")


def test_run_record_reproduces_the_run(run, docs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("docs", "--out", "one", *SMALL).status == 0
    monkeypatch.chdir(docs)
    assert run("--config", tmp_path / "one" / "run.json", "--out", tmp_path / "two").status == 0
    assert (tmp_path / "one" / "samples.jsonl").read_text() == (tmp_path / "two" / "samples.jsonl").read_text()
    # The same record also resumes a run.
    assert run("--config", tmp_path / "one" / "run.json", "--out", tmp_path / "one").status == 0


def write_chunks(file: Path) -> Path:
    rows = ({"doc_id": f"c{n}", "contents": f"Text number {n} about word{n}."} for n in range(9))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def non_utf8_folder(tmp_path):
    """A folder whose name is not valid UTF-8."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    return folder


def test_non_utf8_folder_names(run, non_utf8_folder):
    docs = write_documents(non_utf8_folder / "docs")
    result = run(docs, "--out", non_utf8_folder / "run", *SMALL)
    assert result.status == 0, result.err
    record = json.loads((non_utf8_folder / "run" / "run.json").read_text())
    assert record["configuration"]["documents"] == [str(docs)]
    assert record["tracked"]["run_id"] in result.out
    again = run("--config", non_utf8_folder / "run" / "run.json", "--out", non_utf8_folder / "run")
    assert (again.status, again.out) == (0, result.out)


def test_non_utf8_chunk_file_names(run, non_utf8_folder, tmp_path):
    file = write_chunks(non_utf8_folder / os.fsdecode(b"mine\xe9.jsonl"))
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/run\xe9"))
    result = run("--chunks", file, "--out", out, "--size", 3)
    assert result.status == 0, result.err
    assert json.loads((out / "run.json").read_text())["tracked"]["run_id"] in result.out


def test_given_chunks_are_used_unchanged(run, tmp_path):
    file = write_chunks(tmp_path / "mine.jsonl")
    result = run("--chunks", file, "--out", tmp_path / "run", "--size", 3)
    assert result.status == 0, result.err
    with RunStore.read(tmp_path / "run") as store:
        assert [chunk.chunk_id for chunk in store.chunks()] == [f"c{n}" for n in range(9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no documents; name files"),
        (("none.md",), "no such file or folder: none.md"),
        (("{docs}", "--size", "0"), "--size 0"),
        (("{docs}", "--recipe", "clever"), "--recipe clever: no such recipe; choose one of evolved"),
        (("{docs}", "--critic", "clever"), "--critic clever: no such critic"),
        (("{docs}", "--ask", "clever"), "--ask clever: choose one of easy, all"),
        (("{docs}", "--config", "none.toml"), "--config none.toml"),
        (("{empty}",), "no documents found"),
        (("{docs}", "--min-length", "9999"), "no chunk is left"),
    ],
)
def test_invalid_input_prints_one_error_and_writes_nothing(run, docs, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    filled = [argument.format(docs=docs, empty=tmp_path / "empty") for argument in arguments]
    result = run(*filled, "--out", tmp_path / "run")
    assert result.status == 2
    assert message in result.err
    errors = [line for line in result.err.splitlines() if line.startswith("groundset: error: ")]
    assert errors == result.err.splitlines()[-1:]
    assert not (tmp_path / "run").exists()


def test_unreachable_server_prints_one_error_and_writes_nothing(capsys, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as caught:
        commands.main(["generate", str(docs), "--out", "run", "--lm", "openai/x@http://127.0.0.1:9/v1"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("groundset: error: no model server answers at http://127.0.0.1:9/v1;")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def run_with_server(run, docs, tmp_path, monkeypatch, serving):
    """Return a function that runs the command with a real server and scripted embedder, critics and program."""
    scripted = functools.partial(
        run_generation,
        openers=Openers(None, Encoder, lambda spec, **parts: CRITICS),
        recipe=scripted_recipe(),
    )
    monkeypatch.setattr(making, "run_generation", scripted)
    return lambda *arguments: run(docs, "--no-track", "--parser", "none", *SMALL, *arguments)


def test_run_resumes_with_server_at_another_address(run_with_server, serving, tmp_path):
    out = tmp_path / "run"
    with serving() as first:
        first_run = run_with_server("--out", out, "--size", 6, "--lm", first.spec)
        assert first_run.status == 0, first_run.err
        assert "Texts go" not in first_run.err
        whole = run_with_server("--out", tmp_path / "whole", "--lm", first.spec)
        assert whole.status == 0
    calls = json.loads((out / "run.json").read_text())["calls"]
    with sqlite3.connect(out / "run.sqlite") as database:  # the state after a kill before the last decisions
        for table in ("samples", "rejects"):
            database.execute(f"DELETE FROM {table}")
        database.execute("DELETE FROM steps")
        database.execute("UPDATE attempts SET decided = 0, outcome = NULL, accepted = NULL, exhausted = NULL")
    database.close()
    with serving() as second:
        again = run_with_server("--out", out, "--size", 6, "--lm", second.spec)
        assert again.status == 0, again.err
        assert second.texts == [], "finished calls are reused"
    record = json.loads((out / "run.json").read_text())
    assert record["calls"] == calls
    assert record["models"]["lm"]["name"] == "openai/tiny@server"
    assert run_with_server("--out", out, "--size", 6, "--lm", "openai/other@http://127.0.0.1:9/v1").status == 2


@pytest.mark.parametrize(("option", "key"), [((), "Bearer none"), (("--lm",), "Bearer mine")])
def test_api_key_is_sent_only_to_a_command_line_address(
    run_with_server, serving, tmp_path, monkeypatch, capsys, option, key
):
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    monkeypatch.setattr(OpenAISpec, "is_local", False)  # treat the server as remote
    with serving() as server:
        config = tmp_path / "groundset.toml"
        config.write_text(f'lm = "{server.spec}"\n')
        result = run_with_server(
            "--out", tmp_path / "run", "--config", config, *(part for name in option for part in (name, server.spec))
        )
        assert result.status == 0, result.err
        assert server.keys == {key}
        assert server.texts
        where = f"127.0.0.1:{server.server_port}"
    before, _, _ = result.err.partition("Reading documents")
    assert f"Texts go to {where}.\n" in before
    assert (f"GROUNDSET_API_KEY is not sent to {where}" in before) == (not option)


def test_api_key_is_sent_to_local_server_named_in_config(run_with_server, serving, tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    with serving() as server:
        config = tmp_path / "run.json"
        config.write_text(json.dumps({"configuration": {"lm": server.spec}}))
        assert run_with_server("--out", tmp_path / "run", "--config", config).status == 0
        assert server.keys == {"Bearer mine"}


def test_lm_file_is_rejected_as_option(run, docs, tmp_path):
    config = tmp_path / "groundset.toml"
    config.write_text('lm_file = "x"\n')
    result = run(docs, "--out", tmp_path / "run", "--config", config)
    assert result.status == 2
    assert "there is no option lm-file" in result.err


def test_server_failure_during_run_prints_one_error(run_with_server, serving, tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between retries
    with serving() as server:
        monkeypatch.setattr(servers, "check_served", lambda spec: None)
        server.status = 401
        result = run_with_server("--out", tmp_path / "run", "--lm", server.spec)
        url = f"http://127.0.0.1:{server.server_port}/v1"
    assert result.status == 1
    assert result.err.splitlines()[-1].startswith(f"groundset: error: the model server at {url} needs an API key")


def test_out_is_required(run, docs):
    result = run(docs)
    assert result.status == 2
    assert "--out" in result.err


def test_mismatched_options_are_refused_before_loading(run, docs, tmp_path, monkeypatch):
    assert run(docs, "--out", tmp_path / "run", *SMALL).status == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    result = run(docs, "--out", tmp_path / "run", *SMALL, "--seed", 5, "--candidates", 9)
    assert result.status == 2
    assert "--seed 0 (now 5), --candidates 2 (now 9)" in result.err
    assert result.err.count("\n") == 1
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def servers_of(out: Path) -> dict[str, dict[str, float]]:
    return {each.pop("server"): each for each in json.loads((out / "run.json").read_text())["servers"]}


def test_run_continues_on_other_servers_of_the_same_model(run_with_server, serving, tmp_path):
    with serving() as one:
        assert run_with_server("--out", tmp_path / "whole", "--lm", one.spec).status == 0
    out, file = tmp_path / "run", tmp_path / "servers.txt"
    with serving() as first, serving() as second:

        def reset(handler, answer):
            handler.close_connection = True

        first.fault = lambda handler, answer: (setattr(first, "fault", reset), first.fault(handler, answer))
        several = ("--lm", first.spec, "--lm", second.spec)
        result = run_with_server("--out", out, "--size", 4, *several, "--workers", 4)
        assert result.status == 0, result.err
        hosts = [f"127.0.0.1:{server.server_port}" for server in (first, second)]
        assert f"{hosts[0]} is left out: the model server at http://{hosts[0]}/v1 closed the connection" in result.err
    record = json.loads((out / "run.json").read_text())
    assert record["configuration"]["lm"] == [first.spec, second.spec]
    assert record["configuration"]["critic_lm"] is None
    counts = servers_of(out)
    assert sum(each["calls"] for each in counts.values()) == record["calls"]
    assert counts[hosts[0]]["failures"] >= 1
    assert counts[hosts[1]]["failures"] == 0
    with serving() as third:
        file.write_text(f"http://127.0.0.1:9/v1\nhttp://127.0.0.1:{third.server_port}/v1\n")
        # More samples than the attempts that the first servers may have been asked for ahead.
        again = run_with_server(
            "--out", out, "--size", 12, "--lm", f"openai/tiny@{file}", "--timeout", 60, "--retries", 0
        )
        assert again.status == 0, again.err
        assert "127.0.0.1:9 is left out: no model server answers at http://127.0.0.1:9/v1;" in again.err
        assert servers_of(out)[f"127.0.0.1:{third.server_port}"]["calls"] == len(third.texts)
    assert len(servers_of(out)) == 3
    assert len((out / "samples.jsonl").read_text().splitlines()) == 12


def test_samples_do_not_depend_on_the_number_of_servers(run_with_server, serving, tmp_path):
    with serving() as first, serving() as second:
        for name, servers in (("one", (first,)), ("two", (first, second))):
            lm = [part for server in servers for part in ("--lm", server.spec)]
            assert run_with_server("--out", tmp_path / name, *lm).status == 0
    assert (tmp_path / "one" / "samples.jsonl").read_text() == (tmp_path / "two" / "samples.jsonl").read_text()


def test_run_without_any_server_ends_and_is_continued(run_with_server, serving, tmp_path):
    out = tmp_path / "run"
    with serving() as first, serving() as second:
        for server in (first, second):

            def fails_later(handler, answer, server=server):
                server.fault = (
                    (lambda handler, answer: handler.send_error(500)) if len(server.texts) > 3 else server.fault
                )
                handler.server.answered = True
                handler._send(200, json.loads(answer))

            server.fault = fails_later
        lm = ("--lm", first.spec, "--lm", second.spec)
        failed = run_with_server("--out", out, *lm, "--retries", 0)
        assert failed.status == 1
        assert failed.err.count("failed with status 500") >= 1
        assert json.loads((out / "run.json").read_text())["status"] == "failed"
        paid = json.loads((out / "run.json").read_text())["calls"]
        first.fault = second.fault = None
        before = len(first.texts) + len(second.texts)
        assert run_with_server("--out", out, *lm).status == 0
        record = json.loads((out / "run.json").read_text())
        assert len(first.texts) + len(second.texts) - before == record["calls"] - paid, "nothing is paid twice"


def test_answer_that_comes_after_the_run_has_failed_is_stored(run_with_server, serving, tmp_path):
    out, gate = tmp_path / "run", threading.Event()
    with serving() as server:

        def hang(handler, answer):
            gate.wait(20)
            handler._send(200, json.loads(answer))

        server.fault = hang
        failed = run_with_server("--out", out, "--lm", server.spec, "--timeout", 3)
        assert failed.status == 1
        assert failed.err.splitlines()[-1].endswith("did not answer within 3 seconds")
        assert json.loads((out / "run.json").read_text())["calls"] == 0
        server.fault = None
        gate.set()
        for _ in range(100):
            with RunStore.read(out) as store:
                if stored := store.calls.totals().calls:
                    break
            time.sleep(0.05)
        assert stored == len(server.texts) == 1
        assert run_with_server("--out", out, "--lm", server.spec).status == 0
        assert len(set(server.texts)) == len(server.texts), "nothing is paid twice"


def test_servers_of_a_config_file(run_with_server, serving, tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    (tmp_path / "settings").mkdir()
    config = tmp_path / "settings" / "groundset.toml"
    with serving() as first, serving() as second:
        (tmp_path / "settings" / "servers.txt").write_text(f"http://127.0.0.1:{second.server_port}/v1\n")
        config.write_text(f'lm = ["{first.spec}", "openai/tiny@servers.txt"]\n')
        result = run_with_server("--out", tmp_path / "run", "--config", config)
        assert result.status == 0, result.err
        assert first.keys == second.keys == {"Bearer mine"}, "both are on this machine"
        monkeypatch.setattr(OpenAISpec, "is_local", False)  # treat the servers as remote
        for server in (first, second):
            server.keys.clear()
        servers.check_served.cache_clear()
        assert run_with_server("--out", tmp_path / "other", "--config", config).status == 0
        assert first.keys == second.keys == {"Bearer none"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lm", "openai/a@http://x/v1", "--lm", "openai/b@http://y/v1"), "all servers must serve the same model"),
        (("--lm", "openai/a@missing.txt"), "missing.txt cannot be read: No such file or directory"),
        (("--lm", "openai/a@localhost:8000"), "base URL must start with http"),
        (("--lm", ""), "--lm"),
        (("--timeout", 0), "--timeout 0: must be more than 0"),
        (("--timeout", "soon"), "--timeout soon: must be a number"),
        (("--retries", -1), "--retries -1: must be at least 0"),
    ],
)
def test_wrong_servers_are_one_line(run_with_server, tmp_path, options, message):
    result = run_with_server("--out", tmp_path / "run", *options)
    assert result.status == 2
    assert message in result.err.splitlines()[-1]
    assert not (tmp_path / "run").exists()
