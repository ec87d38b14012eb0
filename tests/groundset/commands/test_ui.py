"""`groundset ui` with a real store."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from groundset.tracking.compiles import CompileStore
from programs.errors import GroundsetError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield held.getsockname()[1]


def listening(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def test_server_serves_pages_and_artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    samples = tmp_path / "samples.jsonl"
    row = {"id": "s1", "question": "Who?", "answer": "Ada", "evolution": "simple", "language": "en", "probability": 0.7}
    samples.write_text(json.dumps(row) + "\n")
    run_id = CompileStore(store, tmp_path / "artifacts").log_run("demo", "key", {"size": 8}, {"accepted": 8}, samples)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    script = "import sys; from groundset.commands import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "ui", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert f"http://127.0.0.1:{port} " in process.stdout.readline()
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
                assert "<title>MLflow</title>" in client.get("/").text
                found = client.get("/get-artifact", params={"run_id": run_id, "path": "samples.jsonl"})
                assert found.text == samples.read_text()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not listening(port)


def test_password_is_not_an_argument(run, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    def start(command: list[str], *, env: dict[str, str], **options: object) -> None:
        started.append((command, env))
        raise GroundsetError("enough")

    uri = "postgresql://me:hunter2@127.0.0.1:1/x"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(signal, "signal", lambda *arguments: None)
    ran = run("ui")
    [(command, environment)] = started
    assert "hunter2" not in " ".join(command) + ran.out + ran.err
    assert environment["MLFLOW_BACKEND_STORE_URI"] == uri


def test_port_in_use(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    ran = run("ui", "--port", str(taken))
    assert ran.status == 2
    assert f"--port {taken}: already in use" in ran.err


def test_remote_store_is_refused(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://example.org")
    ran = run("ui")
    assert ran.status == 2
    assert "https://example.org is a server" in ran.err
